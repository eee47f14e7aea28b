package io.github.kgsvc.client;

import io.grpc.Channel;
import io.grpc.ClientInterceptor;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import io.grpc.TlsChannelCredentials;
import io.grpc.stub.MetadataUtils;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** A service, reached over one channel, which threads may share. */
public final class Client implements AutoCloseable {
  private final Calls calls;

  private Client(Calls calls) { this.calls = calls; }

  /**
   * Connects as the environment says: KGSVC_SERVER (else 127.0.0.1:50051), KGSVC_TOKEN, KGSVC_TLS_CA, KGSVC_TLS_CERT,
   * KGSVC_TLS_KEY and KGSVC_TLS_NAME. The connection is made with the first call.
   *
   * @return the client
   */
  public static Client connect() { return builder().build(); }

  /**
   * Connects to an address, and else as the environment says.
   *
   * @param server host:port
   * @return the client
   */
  public static Client connect(String server) { return builder().server(server).build(); }

  /** {@return what says where the service is and who calls; what is left out comes from the environment} */
  public static Builder builder() { return new Builder(); }

  /**
   * The memory of a tenant.
   *
   * @param id the group
   * @return its memory
   */
  public Group group(String id) { return new Group(new AsyncGroup(calls, id)); }

  /** {@return what the service runs on} */
  public Health health() { return Calls.join(healthAsync()); }

  /** {@return what the service runs on, without blocking} */
  public CompletableFuture<Health> healthAsync() { return calls.one("Healthcheck", Map.of(), Plain.as(Health.class)); }

  /** {@return the groups that the caller may read} */
  public Listing<GroupSummary> groups() {
    return new Listing<>(calls, "ListGroups", Map.of(), "groups", GroupSummary.class);
  }

  /**
   * The channel with what goes along with each call: for the generated stubs, where this client has no word.
   *
   * @return the channel, which ends with the client
   */
  public Channel channel() { return calls.channel(); }

  /** Ends the channel and all calls. */
  @Override
  public void close() { calls.channel().shutdownNow(); }

  /** Where the service is and who calls. */
  public static final class Builder {
    private static final int LARGEST_ANSWER = 8 << 20;

    private final Map<String, String> settings = new HashMap<>(System.getenv());
    private final List<ClientInterceptor> interceptors = new ArrayList<>();
    private Duration timeout = Duration.ofSeconds(30);

    private Builder() {}

    private Builder with(String variable, Object value) {
      settings.put(variable, value == null ? "" : value.toString());
      return this;
    }

    /**
     * Sets the address.
     *
     * @param server host:port
     * @return this
     */
    public Builder server(String server) { return with("KGSVC_SERVER", server); }

    /**
     * Sets what proves who calls. Beyond this machine it needs TLS.
     *
     * @param token the token; null: none
     * @return this
     */
    public Builder token(String token) { return with("KGSVC_TOKEN", token); }

    /**
     * Uses TLS, trusting the usual authorities.
     *
     * @return this
     */
    public Builder tls() { return with("tls", true); }

    /**
     * Uses TLS, trusting an authority.
     *
     * @param ca a file of PEM
     * @return this
     */
    public Builder tlsCa(Path ca) { return with("KGSVC_TLS_CA", ca); }

    /**
     * Uses TLS with a certificate of the caller.
     *
     * @param cert a file of PEM
     * @param key its key, a file of PEM (PKCS 8)
     * @return this
     */
    public Builder tlsCert(Path cert, Path key) { return with("KGSVC_TLS_CERT", cert).with("KGSVC_TLS_KEY", key); }

    /**
     * Sets the name in the certificate of the service, where that is not its address.
     *
     * @param name the name
     * @return this
     */
    public Builder tlsName(String name) { return with("KGSVC_TLS_NAME", name); }

    /**
     * Sets how long a call may take with all its attempts; 30 seconds by default.
     *
     * @param timeout how long
     * @return this
     */
    public Builder timeout(Duration timeout) {
      this.timeout = timeout;
      return this;
    }

    /**
     * Adds what sees each attempt of a call, such as the interceptor of OpenTelemetry.
     *
     * @param interceptor an interceptor of gRPC
     * @return this
     */
    public Builder intercept(ClientInterceptor interceptor) {
      interceptors.add(interceptor);
      return this;
    }

    /**
     * Makes the client.
     *
     * @return the client, which connects with its first call
     * @throws IllegalArgumentException if a token would travel readable by all, or a key lacks its certificate
     * @throws UncheckedIOException if a file cannot be read
     */
    public Client build() {
      settings.values().removeIf(String::isEmpty);
      String address = settings.getOrDefault("KGSVC_SERVER", "127.0.0.1:50051");
      boolean here = address.matches("(127\\.|localhost:|\\[::1]:|unix:).*");
      boolean safe = given("tls") || given("KGSVC_TLS_CA") || given("KGSVC_TLS_CERT");
      if (given("KGSVC_TLS_CERT") != given("KGSVC_TLS_KEY")) {
        throw new IllegalArgumentException("a certificate and its key must be given together");
      } else if (given("KGSVC_TOKEN") && !safe && !here) {
        throw new IllegalArgumentException(
            "the token would travel to " + address + " readable by all: use tls() or tlsCa(...)");
      }
      var channel =
          Grpc.newChannelBuilder(address, safe ? certificates().build() : InsecureChannelCredentials.create())
              .maxInboundMessageSize(LARGEST_ANSWER)
              .keepAliveTime(30, TimeUnit.SECONDS)
              .keepAliveTimeout(10, TimeUnit.SECONDS)
              .intercept(MetadataUtils.newAttachHeadersInterceptor(metadata()))
              .intercept(interceptors);
      if (given("KGSVC_TLS_NAME")) {
        channel.overrideAuthority(settings.get("KGSVC_TLS_NAME"));
      }
      return new Client(new Calls(channel.build(), address, timeout, new AtomicReference<>(new Metadata())));
    }

    private boolean given(String variable) { return settings.containsKey(variable); }

    private File file(String variable) { return new File(settings.get(variable)); }

    private TlsChannelCredentials.Builder certificates() {
      var made = TlsChannelCredentials.newBuilder();
      try {
        if (given("KGSVC_TLS_CA")) {
          made.trustManager(file("KGSVC_TLS_CA"));
        }
        return given("KGSVC_TLS_CERT") ? made.keyManager(file("KGSVC_TLS_CERT"), file("KGSVC_TLS_KEY")) : made;
      } catch (IOException unreadable) {
        throw new UncheckedIOException(unreadable);
      }
    }

    /** Of every call: errors come as gRPC statuses; who calls. */
    private Metadata metadata() {
      Metadata made = new Metadata();
      made.put(Calls.key("kgsvc-errors"), "status");
      if (given("KGSVC_TOKEN")) {
        made.put(Calls.key("authorization"), "Bearer " + settings.get("KGSVC_TOKEN"));
      }
      return made;
    }
  }

  /**
   * What runs there.
   *
   * @param status healthy
   * @param version that of the service
   * @param contractRevision which operations and fields it knows
   * @param store where it keeps the graph
   */
  public record Health(String status, String version, int contractRevision, String store) {}

  /**
   * How much a group holds.
   *
   * @param id the group
   * @param episodes its texts
   * @param entities its entities
   * @param facts its facts
   * @param changedAt when it changed last; null: never
   */
  public record GroupSummary(
      @From("group_id") String id, int episodes, int entities, int facts, Instant changedAt) {}
}
