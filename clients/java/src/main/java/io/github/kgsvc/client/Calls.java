package io.github.kgsvc.client;

import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;

/** Carries out calls over the one channel: with a deadline, and again after what may pass. */
final class Calls {
  static final Duration WAIT = Duration.ofMinutes(10);

  final Ambience ambience;
  final Duration timeout;
  final Channel channel;
  private final String address;
  private final ManagedChannel managed;

  Calls(Connection connection, Duration timeout, List<ClientInterceptor> interceptors, Ambience ambience) {
    this.ambience = ambience;
    this.timeout = timeout;
    address = connection.address();
    managed = connection.channel();
    Channel named =
        ClientInterceptors.intercept(managed, MetadataUtils.newAttachHeadersInterceptor(connection.metadata()));
    channel = ClientInterceptors.intercept(named, interceptors);
  }

  void close() { managed.shutdownNow(); }

  boolean closed() { return managed.isShutdown(); }

  KgsvcException error(Status status, Metadata trailers, String requestId) {
    return Failure.of(status, trailers, address, requestId);
  }

  /** Do something after a pause, on a connection that is tried at once: gRPC itself would wait longer. */
  void later(long pauseNs, Runnable what) {
    Executor delayed = CompletableFuture.delayedExecutor(pauseNs, TimeUnit.NANOSECONDS);
    delayed.execute(
        () -> {
          managed.resetConnectBackoff();
          what.run();
        });
  }

  /** A pause. */
  CompletableFuture<Void> paused(long ns) {
    return CompletableFuture.runAsync(() -> {}, CompletableFuture.delayedExecutor(ns, TimeUnit.NANOSECONDS));
  }

  /**
   * A call: `requests` makes what is sent out of the call's id, anew for each attempt. It may be sent again after a
   * failure that passes: it reads, or the service knows what it was sent before.
   */
  record Call<Q, A>(
      MethodDescriptor<Q, A> method, Function<String, Iterator<Q>> requests, Duration within, int tries) {
    static <Q, A> Call<Q, A> of(MethodDescriptor<Q, A> method, Message.Builder input, Duration within, int tries) {
      return new Call<>(method, id -> List.of(request(method, input, id, "")).iterator(), within, tries);
    }
  }

  /** The output of a call with the client's usual deadline, as `of` shows it. */
  <O, T> CompletableFuture<T> one(MethodDescriptor<?, ?> method, Message.Builder input, Function<O, T> of) {
    return one(method, input, "", of);
  }

  /** The same with an idempotency key. */
  <Q, A, O, T> CompletableFuture<T> one(
      MethodDescriptor<Q, A> method, Message.Builder input, String key, Function<O, T> of) {
    List<A> answers = new ArrayList<>(1);
    Call<Q, A> call =
        new Call<>(method, id -> List.of(request(method, input, id, key)).iterator(), timeout, Attempts.TRIES);
    return then(each(call, answers::add, false), done -> of.apply(field((Message) answers.get(0), "output")));
  }

  /** The envelope, which all requests have alike. */
  @SuppressWarnings("unchecked")
  private static <Q> Q request(MethodDescriptor<Q, ?> method, Message.Builder input, String id, String key) {
    var marshaller = (MethodDescriptor.PrototypeMarshaller<Q>) method.getRequestMarshaller();
    Message.Builder made = ((Message) marshaller.getMessagePrototype()).newBuilderForType();
    with(with(made, "request_id", id), "input", input.build());
    return (Q) (key.isEmpty() ? made : with(made, "idempotency_key", key)).build();
  }

  static Message.Builder with(Message.Builder made, String field, Object value) {
    return made.setField(made.getDescriptorForType().findFieldByName(field), value);
  }

  @SuppressWarnings("unchecked")
  static <T> T field(Message message, String name) {
    return (T) message.getField(message.getDescriptorForType().findFieldByName(name));
  }

  /** Every answer of a call. With `onlyOnce` it is not sent again after the first. */
  <Q, A> CompletableFuture<Void> each(Call<Q, A> call, Consumer<A> take, boolean onlyOnce) {
    return new Running<>(call, ambience.newId().get(), take, onlyOnce).begun();
  }

  /** A call on its way, with all its attempts. */
  final class Running<Q, A> extends CompletableFuture<Void> {
    private final Call<Q, A> call;
    private final String id;
    private final Consumer<A> take;
    private final boolean onlyOnce;
    private final Attempts attempts;
    private volatile ClientCall<Q, A> open;

    Running(Call<Q, A> call, String id, Consumer<A> take, boolean onlyOnce) {
      this.call = call;
      this.id = id;
      this.take = take;
      this.onlyOnce = onlyOnce;
      attempts = new Attempts(ambience, call.within(), call.tries());
    }

    Running<Q, A> begun() {
      attempt();
      return this;
    }

    @Override
    public boolean cancel(boolean interrupt) {
      boolean cancelled = super.cancel(interrupt);
      ClientCall<Q, A> running = open;
      if (running != null) { running.cancel("the caller has given up", null); }
      return cancelled;
    }

    private void attempt() {
      var options = CallOptions.DEFAULT.withDeadlineAfter(attempts.leftNs(), TimeUnit.NANOSECONDS);
      ClientCall<Q, A> made = channel.newCall(call.method(), options);
      open = made;
      Iterator<Q> requests = call.requests().apply(id);
      made.start(new Listener(made, requests), new Metadata());
      made.request(1);
      if (call.method().getType().clientSendsOneMessage()) { // then no onReady comes
        made.sendMessage(requests.next());
        made.halfClose();
      }
      if (isDone()) { made.cancel("the caller has given up", null); }
    }

    private void failed(KgsvcException error) {
      try {
        if (closed()) {
          throw error;
        }
        later(attempts.pauseNs(error), this::attempt);
      } catch (KgsvcException hopeless) {
        completeExceptionally(hopeless);
      }
    }

    private final class Listener extends ClientCall.Listener<A> {
      private final ClientCall<Q, A> here;
      private final Iterator<Q> requests;
      private boolean closed;

      Listener(ClientCall<Q, A> here, Iterator<Q> requests) {
        this.here = here;
        this.requests = requests;
      }

      @Override
      public void onReady() {
        while (!closed && here.isReady() && requests.hasNext()) { here.sendMessage(requests.next()); }
        if (!closed && !requests.hasNext()) {
          closed = true;
          here.halfClose();
        }
      }

      @Override
      public void onMessage(A answer) {
        attempts.progressed();
        if (onlyOnce) { attempts.last(); }
        try {
          take.accept(answer);
          here.request(1);
        } catch (RuntimeException thrown) { // by what the caller gave; it is told
          completeExceptionally(thrown);
          here.cancel("the caller has failed", thrown);
        }
      }

      @Override
      public void onClose(Status status, Metadata trailers) {
        if (status.isOk()) {
          complete(null);
        } else if (!isDone()) {
          failed(error(status, trailers, id));
        }
      }
    }
  }

  /** A future that comes of another, which is cancelled with it. */
  static <A, B> CompletableFuture<B> then(CompletableFuture<A> from, Function<A, B> of) {
    return bound(from, from.thenApply(of));
  }

  /** The future of what is to be done next; both are cancelled with it. */
  static <A, B> CompletableFuture<B> next(CompletableFuture<A> from, Function<A, CompletableFuture<B>> of) {
    return bound(from, from.thenCompose(answer -> of.apply(answer)));
  }

  private static <B> CompletableFuture<B> bound(CompletableFuture<?> from, CompletableFuture<B> made) {
    made.whenComplete(
        (result, failure) -> {
          if (made.isCancelled()) { from.cancel(true); }
        });
    return made;
  }

  /** The result of a future, waited for. */
  static <T> T join(CompletableFuture<T> future) {
    try {
      return future.get();
    } catch (InterruptedException interrupted) {
      future.cancel(true);
      Thread.currentThread().interrupt();
      throw Failure.of("CANCELLED", "the thread was interrupted", "");
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof KgsvcException error) {
        error.fillInStackTrace(); // where the caller is
        throw error;
      }
      throw failed.getCause() instanceof RuntimeException error ? error : new IllegalStateException(failed);
    }
  }
}
