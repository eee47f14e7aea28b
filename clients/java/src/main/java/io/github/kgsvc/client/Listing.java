package io.github.kgsvc.client;

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
  /** `next` is the token of the page after; null: there is none. */
  record Page<T>(List<T> entries, String next) {
    static <R, T> Page<T> of(List<R> entries, Function<R, T> of, String next) {
      return new Page<>(Plain.list(entries, of), next.isEmpty() ? null : next);
    }
  }

  private final Function<String, CompletableFuture<Page<T>>> pages;

  /** `pages` fetches the page of a token; the first has none. */
  Listing(Function<String, CompletableFuture<Page<T>>> pages) {
    this.pages = pages;
  }

  @Override
  public Iterator<T> iterator() {
    return Stream.iterate(page(null), page -> page != null, this::after)
        .flatMap(page -> page.entries().stream())
        .iterator();
  }

  /** {@return what is listed, fetched as it is consumed} */
  public Stream<T> stream() {
    return StreamSupport.stream(spliterator(), false);
  }

  /**
   * Gives all that is listed to a function, without blocking.
   *
   * @param each what to do with each
   * @return done when there is no more
   */
  public CompletableFuture<Void> forEachAsync(Consumer<? super T> each) {
    return from(null, each);
  }

  private CompletableFuture<Void> from(String token, Consumer<? super T> each) {
    return Calls.next(
        pages.apply(token),
        page -> {
          page.entries().forEach(each);
          return page.next() == null ? CompletableFuture.completedFuture(null) : from(page.next(), each);
        });
  }

  private Page<T> page(String token) {
    return Calls.join(pages.apply(token));
  }

  private Page<T> after(Page<T> page) {
    return page.next() == null ? null : page(page.next());
  }
}
