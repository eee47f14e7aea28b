package io.github.kgsvc.client;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.github.kgsvc.client.KgsvcException.Violation;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.List;

/** What a gRPC status says of a call that failed, and the exception for it. */
record Failure(String code, String message, String requestId, List<Violation> fields, Duration retryDelay) {
  private static final Metadata.Key<String> CODE =
      Metadata.Key.of("kgsvc-error-code", Metadata.ASCII_STRING_MARSHALLER);

  /** The exception for a code. */
  static KgsvcException of(String code, String message, String requestId) {
    return new Failure(code, message, requestId, List.of(), null).exception();
  }

  /** The exception for a status that a call to `address` ended with. */
  static KgsvcException of(Status status, Metadata trailers, String address, String requestId) {
    String said = status.getDescription() == null ? "" : status.getDescription();
    String code = trailers == null ? null : trailers.get(CODE);
    if (code == null) {
      code = byGrpc(status.getCode());
    }
    if (code.equals("UNREACHABLE")) {
      said = "no service answers at " + address + ": " + said;
    } else if (code.equals("UNIMPLEMENTED")) {
      said = address + " does not know this operation: is it older than this client?";
    }
    Failure failure = new Failure(code, said, requestId, List.of(), null);
    com.google.rpc.Status details = StatusProto.fromStatusAndTrailers(status, trailers);
    KgsvcException made = failure.with(details == null ? List.of() : details.getDetailsList()).exception();
    if (status.getCause() != null) {
      made.initCause(status.getCause());
    }
    return made;
  }

  /** What gRPC itself says where the service said nothing. INTERNAL and UNKNOWN are broken streams. */
  private static String byGrpc(Status.Code code) {
    return switch (code) {
      case UNAVAILABLE -> "UNREACHABLE";
      case INTERNAL, UNKNOWN -> "BROKEN";
      case RESOURCE_EXHAUSTED -> "LIMIT_EXCEEDED"; // larger than a message may be
      default -> code.name();
    };
  }

  private Failure with(List<Any> details) {
    Failure found = this;
    for (Any detail : details) {
      try {
        found = found.with(detail);
      } catch (InvalidProtocolBufferException damaged) {
        continue; // code and sentence are there all the same
      }
    }
    return found;
  }

  private Failure with(Any detail) throws InvalidProtocolBufferException {
    if (detail.is(ErrorInfo.class)) {
      String id = detail.unpack(ErrorInfo.class).getMetadataOrDefault("request_id", requestId);
      return new Failure(code, message, id, fields, retryDelay);
    }
    if (detail.is(BadRequest.class)) {
      List<Violation> wrong =
          detail.unpack(BadRequest.class).getFieldViolationsList().stream()
              .map(each -> new Violation(each.getField(), each.getDescription()))
              .toList();
      return new Failure(code, message, requestId, wrong, retryDelay);
    }
    if (detail.is(RetryInfo.class)) {
      var delay = detail.unpack(RetryInfo.class).getRetryDelay();
      return new Failure(code, message, requestId, fields, Duration.ofSeconds(delay.getSeconds(), delay.getNanos()));
    }
    return this;
  }

  private KgsvcException exception() {
    return switch (code) {
      case "INVALID_ARGUMENT", "LIMIT_EXCEEDED", "MALFORMED_REQUEST" -> new KgsvcException.InvalidInput(this);
      case "NOT_FOUND" -> new KgsvcException.NotFound(this);
      case "CONFLICT" -> new KgsvcException.Conflict(this);
      case "UNAUTHENTICATED", "PERMISSION_DENIED" -> new KgsvcException.AccessDenied(this);
      case "OVERLOADED", "QUOTA_EXCEEDED", "SHUTTING_DOWN", "STORE_UNAVAILABLE", "EMBEDDER_UNAVAILABLE",
              "MODEL_UNAVAILABLE" ->
          new KgsvcException.Unavailable(this);
      case "DEADLINE_EXCEEDED" -> new KgsvcException.DeadlineExceeded(this);
      case "UNREACHABLE", "BROKEN", "CANCELLED" -> new KgsvcException.Unreachable(this);
      case "UNIMPLEMENTED" -> new KgsvcException.OlderService(this);
      default -> new KgsvcException.ServiceFault(this);
    };
  }
}
