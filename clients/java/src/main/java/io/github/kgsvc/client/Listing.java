package io.github.kgsvc.client;

import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * A listing, of which pages are fetched on the way: {@code for (Receipt.Item item : memory.items()) ...}.
 *
 * @param <T> what is listed
 */
public final class Listing<T> implements Iterable<T> {
  /** A page, and the token of the next one; empty: there is none. */
  private record Page<T>(List<T> entries, String next) {}

  private final Function<String, CompletableFuture<Page<T>>> pages; // by their tokens; empty: the first

  /** `input` asks for the first page; `entries` is the field of a page that has what is listed. */
  Listing(Calls calls, String method, Map<String, ?> input, String entries, Class<T> as) {
    pages =
        token -> {
          Map<String, Object> asked = new HashMap<>(token.isEmpty() ? Map.of() : Map.of("page_token", token));
          asked.putAll(input);
          return calls.one(
              method, asked, raw -> new Page<>(Plain.list(as, raw, entries), Plain.text(raw, "next_page_token")));
        };
  }

  @Override
  public Iterator<T> iterator() { return stream().iterator(); }

  private Page<T> after(Page<T> page) { return page.next().isEmpty() ? null : Calls.join(pages.apply(page.next())); }

  /** {@return what is listed, fetched as it is consumed} */
  public Stream<T> stream() {
    return Stream.iterate(Calls.join(pages.apply("")), page -> page != null, this::after)
        .flatMap(page -> page.entries().stream());
  }

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
}
