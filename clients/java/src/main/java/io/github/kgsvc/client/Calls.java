package io.github.kgsvc.client;

import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import kgsvc.v1.AdminServiceGrpc;
import kgsvc.v1.IngestionServiceGrpc;
import kgsvc.v1.RetrievalServiceGrpc;

/**
 * Carries out calls over the one channel to an address: with a deadline, and again after what may pass. Each says what
 * those before it wrote and read (`seen`), so that it sees that on whatever server of a cluster.
 */
record Calls(ManagedChannel channel, String address, Duration timeout, AtomicReference<Metadata> seen) {
  static final Duration WAIT = Duration.ofMinutes(10);
  static final int TRIES = 5;
  static final int FOREVER = Integer.MAX_VALUE;
  private static final Metadata.Key<String> SEEN = key("kgsvc-consistency-token");
  private static final double FIRST_PAUSE_NS = 0.1e9;
  private static final double LONGEST_PAUSE_NS = 5e9;

  /** The methods of the contract by their names. */
  @SuppressWarnings("unchecked")
  private static final Map<String, MethodDescriptor<Message, Message>> METHODS =
      Stream.of(IngestionServiceGrpc.getServiceDescriptor(), RetrievalServiceGrpc.getServiceDescriptor(),
              AdminServiceGrpc.getServiceDescriptor())
          .flatMap(service -> service.getMethods().stream())
          .map(method -> (MethodDescriptor<Message, Message>) method)
          .collect(Collectors.toMap(MethodDescriptor::getBareMethodName, method -> method));

  /** What becomes of a call that has begun to answer: it is sent again, or not, or goes on after its end, too. */
  enum Kind { WHOLE, ONCE, ENDLESS }

  /**
   * A call: `requests` makes what is sent out of the call's id, anew for each attempt, and gives null while there is
   * nothing to send; `take` gets each answer, and tells whether it wants more. It may be sent again after a failure that
   * passes: it reads, or the service knows what it was sent before.
   */
  record Call(
      String method, Function<String, Iterator<Message>> requests, Duration within, int tries, Kind kind,
      Predicate<Message> take) {}

  static Metadata.Key<String> key(String name) { return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER); }

  /** Calls from here on see what was answered so. */
  void saw(String token) {
    if (token != null && !token.isEmpty()) {
      Metadata made = new Metadata();
      made.put(SEEN, token);
      seen.set(made);
    }
  }

  /** What `of` makes of the output of a call with the client's usual deadline. */
  <T> CompletableFuture<T> one(String method, Map<String, ?> input, Function<Message, T> of) {
    return whole(method, Map.of("input", input), of);
  }

  /** The same, the request having more than its input: an idempotency key. */
  <T> CompletableFuture<T> whole(String method, Map<String, ?> request, Function<Message, T> of) {
    List<T> made = new ArrayList<>(1);
    Predicate<Message> take = output -> made.add(of.apply(output));
    return then(each(method, request, timeout, TRIES, Kind.WHOLE, take), done -> made.get(0));
  }

  /** A call with one request, whose fields are looked at in each attempt; `take` gets the output of each answer. */
  CompletableFuture<Void> each(
      String method, Map<String, ?> request, Duration within, int tries, Kind kind, Predicate<Message> take) {
    Function<String, Message.Builder> sent = id -> Plain.fill(request(method, Map.of("request_id", id)), request);
    Predicate<Message> told = answer -> take.test(Plain.part(answer, "output"));
    return new Running(
        new Call(method, id -> List.of(sent.apply(id).build()).iterator(), within, tries, kind, told));
  }

  /** What is sent to a method. */
  static Message.Builder request(String method, Map<String, ?> fields) {
    var marshaller = (MethodDescriptor.PrototypeMarshaller<Message>) METHODS.get(method).getRequestMarshaller();
    return Plain.fill(marshaller.getMessagePrototype().newBuilderForType(), fields);
  }

  /** Something after a pause, on a connection that is tried at once: gRPC itself would wait longer. */
  CompletableFuture<Void> later(long pauseNs, Runnable what) {
    var paused = CompletableFuture.delayedExecutor(pauseNs, TimeUnit.NANOSECONDS);
    return CompletableFuture.runAsync(channel::resetConnectBackoff, paused).thenRun(what);
  }

  /** A call on its way, with all its attempts. */
  final class Running extends CompletableFuture<Void> implements ClientResponseObserver<Message, Message> {
    private final Call call;
    private final MethodDescriptor<Message, Message> method;
    private final String id = UUID.randomUUID().toString();
    private final AtomicReference<Metadata> trailers = new AtomicReference<>();
    private Iterator<Message> requests;
    private ClientCallStreamObserver<Message> open; // the attempt under way
    private boolean sent; // nothing more on it
    private boolean begun; // to answer
    private int failed; // in a row
    private long untilNs;
    private volatile KgsvcException last; // since the last answer

    Running(Call call) {
      this.call = call;
      method = METHODS.get(call.method());
      untilNs = System.nanoTime() + call.within().toNanos();
      attempt();
    }

    private synchronized void attempt() {
      if (!isDone()) {
        requests = call.requests().apply(id);
        sent = false;
        var options = CallOptions.DEFAULT.withDeadlineAfter(untilNs - System.nanoTime(), TimeUnit.NANOSECONDS);
        var kept = MetadataUtils.newCaptureMetadataInterceptor(new AtomicReference<>(), trailers);
        var next = ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(seen.get()), kept);
        ClientCalls.asyncBidiStreamingCall(next.newCall(method, options), this);
        pump();
      }
    }

    @Override
    public void beforeStart(ClientCallStreamObserver<Message> stream) {
      open = stream;
      stream.setOnReadyHandler(this::pump);
    }

    /** Sends what there is to send by now. */
    synchronized void pump() {
      while (!sent && requests.hasNext() && (open.isReady() || method.getType().clientSendsOneMessage())) {
        Message next = requests.next();
        if (next == null) {
          return;
        }
        open.onNext(next);
      }
      if (!sent && !requests.hasNext()) {
        sent = true;
        open.onCompleted();
      }
    }

    @Override
    public boolean cancel(boolean interrupt) {
      boolean cancelled = super.cancel(interrupt);
      stop(cancelled);
      return cancelled;
    }

    /** Nothing more is sent; and the service is told so, if asked. */
    private synchronized void stop(boolean tell) {
      sent = true;
      if (tell) {
        open.cancel("the caller has enough", null);
      }
    }

    @Override
    public void onNext(Message answer) {
      progressed();
      try {
        if (!call.take().test(answer)) {
          complete(null);
          stop(!sent || method.getType().clientSendsOneMessage()); // else it ends by itself: all is sent and answered
        }
      } catch (RuntimeException thrown) { // by what the caller gave; it is told
        completeExceptionally(thrown);
        stop(true);
      }
    }

    @Override
    public void onError(Throwable failure) {
      stop(false);
      failed(KgsvcException.of(failure, address, id));
    }

    @Override
    public void onCompleted() {
      stop(false);
      saw(trailers.get().get(SEEN));
      if (call.kind() == Kind.ENDLESS) {
        failed(new KgsvcException("BROKEN", "the service ended the stream", id));
      } else {
        complete(null);
      }
    }

    /** Something came of it: pauses begin anew. */
    private void progressed() {
      failed = 0;
      last = null;
      begun = true;
      if (call.kind() == Kind.ENDLESS) {
        untilNs = System.nanoTime() + call.within().toNanos();
      }
    }

    private void failed(KgsvcException error) {
      if (call.kind() == Kind.ENDLESS && error.code().equals("DEADLINE_EXCEEDED")) { // it was quiet until then
        progressed();
      }
      last = error;
      failed++;
      double pause = Math.min(FIRST_PAUSE_NS * Math.pow(2, Math.min(failed - 1, 16)), LONGEST_PAUSE_NS);
      pause = pause * (0.5 + ThreadLocalRandom.current().nextDouble() / 2) + error.retryDelayNs();
      boolean late = pause >= untilNs - System.nanoTime();
      int tries = begun && call.kind() == Kind.ONCE ? 1 : call.tries();
      if (!error.retryable() || failed >= tries || late || channel.isShutdown()) {
        completeExceptionally(error);
      } else {
        later((long) pause, this::attempt);
      }
    }

    /** Why nothing is answered for long. */
    KgsvcException stalled() {
      KgsvcException broken = last;
      return broken != null ? broken : new KgsvcException("DEADLINE_EXCEEDED", "nothing was answered in time", id);
    }
  }

  /** A future that comes of another, which is cancelled with it. */
  static <A, B> CompletableFuture<B> then(CompletableFuture<A> from, Function<A, B> of) {
    return next(from, value -> CompletableFuture.completedFuture(of.apply(value)));
  }

  /** The future of what is to be done next; whichever is under way is cancelled with it. */
  static <A, B> CompletableFuture<B> next(CompletableFuture<A> from, Function<A, CompletableFuture<B>> of) {
    CompletableFuture<CompletableFuture<B>> second = from.thenApply(of);
    CompletableFuture<B> made = second.thenCompose(begun -> begun);
    made.whenComplete((result, failure) -> from.cancel(true)); // nothing where it has ended
    made.whenComplete((result, failure) -> second.thenAccept(begun -> begun.cancel(true)));
    return made;
  }

  /** The result of a future, waited for. */
  static <T> T join(CompletableFuture<T> future) {
    try {
      return future.get();
    } catch (InterruptedException interrupted) {
      future.cancel(true);
      throw interrupted();
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof KgsvcException error) {
        error.fillInStackTrace(); // where the caller is
      }
      throw failed.getCause() instanceof RuntimeException error ? error : new IllegalStateException(failed);
    }
  }

  /** The failure of a thread that was interrupted while it waited. */
  static KgsvcException interrupted() {
    Thread.currentThread().interrupt();
    return new KgsvcException("CANCELLED", "the thread was interrupted", "");
  }
}
