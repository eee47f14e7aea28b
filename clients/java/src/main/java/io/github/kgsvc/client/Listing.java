package io.github.kgsvc.client;

import com.google.protobuf.Message;
import io.grpc.MethodDescriptor;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * A listing, of which pages are fetched on the way: {@code for (Item item : memory.items()) ...}.
 *
 * @param <T> what is listed
 */
public final class Listing<T> implements Iterable<T> {
  /** `next` is the token of the page after; empty: there is none. */
  private record Page<T>(List<T> entries, String next) {}

  private final Function<String, CompletableFuture<Page<T>>> pages;

  /** `input` asks for the first page; `entries` is the field of a page that has what is listed, as `of` shows it. */
  <R> Listing(Calls calls, MethodDescriptor<?, ?> method, Message.Builder input, String entries, Function<R, T> of) {
    pages =
        token -> {
          Message.Builder asked = token.isEmpty() ? input : Calls.with(input.clone(), "page_token", token);
          return calls.one(
              method,
              asked,
              (Message page) ->
                  new Page<>(
                      Plain.list(Calls.<List<R>>field(page, entries), of), Calls.field(page, "next_page_token")));
        };
  }

  @Override
  public Iterator<T> iterator() {
    return Stream.iterate(page(""), page -> page != null, this::after)
        .flatMap(page -> page.entries().stream())
        .iterator();
  }

  /** {@return what is listed, fetched as it is consumed} */
  public Stream<T> stream() { return StreamSupport.stream(spliterator(), false); }

  /**
   * Gives all that is listed to a function, without blocking.
   *
   * @param each what to do with each
   * @return done when there is no more
   */
  public CompletableFuture<Void> forEachAsync(Consumer<? super T> each) { return from("", each); }

  private CompletableFuture<Void> from(String token, Consumer<? super T> each) {
    return Calls.next(
        pages.apply(token),
        page -> {
          page.entries().forEach(each);
          return page.next().isEmpty() ? CompletableFuture.completedFuture(null) : from(page.next(), each);
        });
  }

  private Page<T> page(String token) { return Calls.join(pages.apply(token)); }

  private Page<T> after(Page<T> page) { return page.next().isEmpty() ? null : page(page.next()); }
}
