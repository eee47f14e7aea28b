package io.github.kgsvc.client;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The address of the service, and what proves who calls. The token is in no text of it. */
record Connection(String address, String token, boolean tls, Path ca, Path cert, Path key, String name) {
  static final String ADDRESS = "127.0.0.1:50051";
  private static final int LARGEST_ANSWER = 8 << 20;

  Connection {
    if ((cert == null) != (key == null)) {
      throw new IllegalArgumentException("a certificate and its key must be given together");
    }
    tls = tls || ca != null || cert != null;
    if (token != null && !tls && Stream.of("127.", "localhost:", "[::1]:", "unix:").noneMatch(address::startsWith)) {
      throw new IllegalArgumentException(
          "the token would travel to " + address + " readable by all: use tls() or tlsCa(...)");
    }
  }

  /** A channel, which connects with the first call. */
  ManagedChannel channel() {
    var builder =
        Grpc.newChannelBuilder(address, credentials())
            .maxInboundMessageSize(LARGEST_ANSWER)
            .keepAliveTime(30, TimeUnit.SECONDS)
            .keepAliveTimeout(10, TimeUnit.SECONDS);
    return (name == null ? builder : builder.overrideAuthority(name)).build();
  }

  private ChannelCredentials credentials() {
    if (!tls) {
      return InsecureChannelCredentials.create();
    }
    try {
      var builder = TlsChannelCredentials.newBuilder();
      if (ca != null) {
        builder.trustManager(ca.toFile());
      }
      if (cert != null) {
        builder.keyManager(cert.toFile(), key.toFile());
      }
      return builder.build();
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /** Of every call: errors come as gRPC statuses; who calls. */
  Metadata metadata() {
    Metadata made = new Metadata();
    made.put(Metadata.Key.of("kgsvc-errors", Metadata.ASCII_STRING_MARSHALLER), "status");
    if (token != null) {
      made.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
    }
    return made;
  }

  @Override
  public String toString() {
    return address;
  }
}
