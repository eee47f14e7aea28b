package io.github.kgsvc.client;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * A call that failed. Its code says why:
 *
 * <ul>
 *   <li>INVALID_ARGUMENT, LIMIT_EXCEEDED, MALFORMED_REQUEST: the service does not take the input
 *   <li>NOT_FOUND: the thing named does not exist
 *   <li>CONFLICT: it exists already with other content, or several groups have the uuid
 *   <li>UNAUTHENTICATED, PERMISSION_DENIED: the token is missing or not valid (any more), or does not grant this
 *   <li>READ_ONLY: an operator has switched writes off
 *   <li>UNIMPLEMENTED: the service does not know the operation, its contract is older than this client's
 *   <li>OVERLOADED, QUOTA_EXCEEDED, SHUTTING_DOWN, STORE_UNAVAILABLE, EMBEDDER_UNAVAILABLE, MODEL_UNAVAILABLE: it
 *       cannot do it at the moment
 *   <li>DEADLINE_EXCEEDED: no answer in time; a write may have happened, and to send it again is safe
 *   <li>UNREACHABLE: no service answers; BROKEN, CANCELLED: the connection, or the call, ended
 *   <li>INTERNAL: a fault of the service
 * </ul>
 */
public final class KgsvcException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final Set<String> PASSING =
      Set.of(
          "OVERLOADED", "QUOTA_EXCEEDED", "SHUTTING_DOWN", "STORE_UNAVAILABLE", "EMBEDDER_UNAVAILABLE",
          "MODEL_UNAVAILABLE", "DEADLINE_EXCEEDED", "UNREACHABLE", "BROKEN", "CANCELLED");
  private static final Metadata.Key<String> CODE = Calls.key("kgsvc-error-code");

  /**
   * A field of a request that was not acceptable.
   *
   * @param field its path, such as {@code input.items[2].body}
   * @param description what is wrong with it
   */
  public record Violation(String field, String description) {}

  /** What went wrong, as the contract names it. */
  private final String code;

  /** By which the service's logs know the call. */
  private String requestId;

  private transient List<Violation> fields = List.of();

  /** How long to wait before the next attempt; null where the service does not say. */
  private Duration retryDelay;

  KgsvcException(String code, String message, String requestId) {
    super(message);
    this.code = code;
    this.requestId = requestId;
  }

  /** The exception for a status that a call to `address` ended with. */
  static KgsvcException of(Throwable failure, String address, String requestId) {
    Status status = Status.fromThrowable(failure);
    Metadata trailers = Objects.requireNonNullElseGet(Status.trailersFromThrowable(failure), Metadata::new);
    String said = Objects.requireNonNullElse(status.getDescription(), "");
    String code = Objects.requireNonNullElse(trailers.get(CODE), byGrpc(status.getCode()));
    if (code.equals("UNREACHABLE")) {
      said = "no service answers at " + address + ": " + said;
    } else if (code.equals("UNIMPLEMENTED")) {
      said = address + " does not know this operation: is it older than this client?";
    }
    KgsvcException made = new KgsvcException(code, said, requestId);
    made.initCause(failure);
    StatusProto.fromThrowable(failure).getDetailsList().forEach(made::add);
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

  private void add(Any detail) {
    try {
      if (detail.is(ErrorInfo.class)) {
        requestId = detail.unpack(ErrorInfo.class).getMetadataOrDefault("request_id", requestId);
      } else if (detail.is(BadRequest.class)) {
        var wrong = detail.unpack(BadRequest.class).getFieldViolationsList();
        fields = wrong.stream().map(each -> new Violation(each.getField(), each.getDescription())).toList();
      } else if (detail.is(RetryInfo.class)) {
        var delay = detail.unpack(RetryInfo.class).getRetryDelay();
        retryDelay = Duration.ofSeconds(delay.getSeconds(), delay.getNanos());
      }
    } catch (InvalidProtocolBufferException damaged) {
      return; // code and sentence are there all the same
    }
  }

  /** {@return why it failed} */
  public String code() { return code; }

  /** {@return its id, which names the call in the service's log} */
  public String requestId() { return requestId; }

  /** {@return the fields of the request that were wrong; empty if it was none} */
  public List<Violation> fields() { return fields == null ? List.of() : fields; }

  /** {@return how long to wait before trying again; null if the service does not say} */
  public Duration retryDelay() { return retryDelay; }

  long retryDelayNs() { return retryDelay == null ? 0 : retryDelay.toNanos(); }

  /** {@return whether the same call may succeed later} */
  public boolean retryable() { return PASSING.contains(code); }

  @Override
  public String toString() { return getClass().getName() + ": " + code + ": " + getMessage(); }
}
