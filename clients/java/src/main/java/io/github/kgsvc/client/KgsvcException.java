package io.github.kgsvc.client;

import java.time.Duration;
import java.util.List;

/** A call that failed; the service's docs/contract.md says what each code means. */
public class KgsvcException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * A field of a request that was not acceptable.
   *
   * @param field its path, such as {@code input.items[2].body}
   * @param description what is wrong with it
   */
  public record Violation(String field, String description) {}

  private final transient String code;
  private final transient String requestId;
  private final transient List<Violation> fields;
  private final transient Duration retryDelay;

  KgsvcException(Failure failure) {
    super(failure.message());
    code = failure.code();
    requestId = failure.requestId();
    fields = failure.fields();
    retryDelay = failure.retryDelay();
  }

  /** {@return one of the service's codes, or one that {@link Unreachable} or {@link OlderService} names} */
  public String code() { return code; }

  /** {@return its id} */
  public String requestId() { return requestId; }

  /** {@return the fields; empty if it was none} */
  public List<Violation> fields() { return fields == null ? List.of() : fields; }

  /** {@return the delay; null if the service names none} */
  public Duration retryDelay() { return retryDelay; }

  /** {@return whether it may} */
  public boolean retryable() { return false; }

  @Override
  public String toString() { return getClass().getName() + ": " + code + ": " + getMessage(); }

  /** The service does not take the input: INVALID_ARGUMENT, LIMIT_EXCEEDED, MALFORMED_REQUEST. */
  public static final class InvalidInput extends KgsvcException {
    InvalidInput(Failure failure) { super(failure); }
  }

  /** The thing named does not exist. */
  public static final class NotFound extends KgsvcException {
    NotFound(Failure failure) { super(failure); }
  }

  /** It exists already with other content, or several groups have the uuid. */
  public static final class Conflict extends KgsvcException {
    Conflict(Failure failure) { super(failure); }
  }

  /**
   * The token is missing or not valid (any more), UNAUTHENTICATED, or does not grant this, PERMISSION_DENIED.
   */
  public static final class AccessDenied extends KgsvcException {
    AccessDenied(Failure failure) { super(failure); }
  }

  /** INTERNAL, or a code that this client does not know. */
  public static final class ServiceFault extends KgsvcException {
    ServiceFault(Failure failure) { super(failure); }
  }

  /** UNIMPLEMENTED: the service does not know the operation, its contract is older than this client's. */
  public static final class OlderService extends KgsvcException {
    OlderService(Failure failure) { super(failure); }
  }

  /**
   * The service cannot do it at the moment: OVERLOADED, QUOTA_EXCEEDED, SHUTTING_DOWN, STORE_UNAVAILABLE,
   * EMBEDDER_UNAVAILABLE, MODEL_UNAVAILABLE.
   */
  public static class Unavailable extends KgsvcException {
    Unavailable(Failure failure) { super(failure); }

    @Override
    public boolean retryable() { return true; }
  }

  /** No service answers (UNREACHABLE), or the connection broke (BROKEN, CANCELLED). */
  public static final class Unreachable extends Unavailable {
    Unreachable(Failure failure) { super(failure); }
  }

  /** No answer in time; a write may have happened, and sending it again with the same uuids is safe. */
  public static final class DeadlineExceeded extends KgsvcException {
    DeadlineExceeded(Failure failure) { super(failure); }

    @Override
    public boolean retryable() { return true; }
  }
}
