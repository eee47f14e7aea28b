package io.github.kgsvc.client;

import io.grpc.Channel;
import io.grpc.ClientInterceptor;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import kgsvc.v1.AdminServiceGrpc;
import kgsvc.v1.HealthcheckInput;
import kgsvc.v1.ListGroupsInput;

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
  public static Builder builder() { return new Builder(System.getenv()); }

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
  public CompletableFuture<Health> healthAsync() {
    return calls.one(AdminServiceGrpc.getHealthcheckMethod(), HealthcheckInput.newBuilder(), Health::of);
  }

  /** {@return the groups that the caller may read} */
  public Listing<GroupSummary> groups() {
    var input = ListGroupsInput.newBuilder();
    return new Listing<>(calls, AdminServiceGrpc.getListGroupsMethod(), input, "groups", GroupSummary::of);
  }

  /**
   * The channel with what goes along with each call: for the generated stubs, where this client has no word.
   *
   * @return the channel, which ends with the client
   */
  public Channel channel() { return calls.channel; }

  /** Ends the channel and all calls. */
  @Override
  public void close() { calls.close(); }

  /** Where the service is and who calls. */
  public static final class Builder {
    private final Map<String, String> environment;
    private final List<ClientInterceptor> interceptors = new ArrayList<>();
    private String server;
    private String token;
    private boolean tls;
    private Path ca;
    private Path cert;
    private Path key;
    private String name;
    private Duration timeout = Duration.ofSeconds(30);

    Builder(Map<String, String> environment) {
      this.environment = environment;
      server = given("KGSVC_SERVER");
      token = given("KGSVC_TOKEN");
      ca = path("KGSVC_TLS_CA");
      cert = path("KGSVC_TLS_CERT");
      key = path("KGSVC_TLS_KEY");
      name = given("KGSVC_TLS_NAME");
    }

    private String given(String variable) {
      String value = environment.get(variable);
      return value == null || value.isEmpty() ? null : value;
    }

    private Path path(String variable) {
      String value = given(variable);
      return value == null ? null : Path.of(value);
    }

    /**
     * Sets the address.
     *
     * @param server host:port
     * @return this
     */
    public Builder server(String server) {
      this.server = server;
      return this;
    }

    /**
     * Sets what proves who calls. Beyond this machine it needs TLS.
     *
     * @param token the token; null: none
     * @return this
     */
    public Builder token(String token) {
      this.token = token;
      return this;
    }

    /**
     * Uses TLS, trusting the usual authorities.
     *
     * @return this
     */
    public Builder tls() {
      tls = true;
      return this;
    }

    /**
     * Uses TLS, trusting an authority.
     *
     * @param ca a file of PEM
     * @return this
     */
    public Builder tlsCa(Path ca) {
      this.ca = ca;
      return this;
    }

    /**
     * Uses TLS with a certificate of the caller.
     *
     * @param cert a file of PEM
     * @param key its key, a file of PEM (PKCS 8)
     * @return this
     */
    public Builder tlsCert(Path cert, Path key) {
      this.cert = cert;
      this.key = key;
      return this;
    }

    /**
     * Sets the name in the certificate of the service, where that is not its address.
     *
     * @param name the name
     * @return this
     */
    public Builder tlsName(String name) {
      this.name = name;
      return this;
    }

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
     * @throws java.io.UncheckedIOException if a file cannot be read
     */
    public Client build() {
      String address = server == null ? Connection.ADDRESS : server;
      Connection connection = new Connection(address, token, tls, ca, cert, key, name);
      return new Client(new Calls(connection, timeout, interceptors, Ambience.USUAL));
    }
  }
}
