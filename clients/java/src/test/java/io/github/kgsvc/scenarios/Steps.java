package io.github.kgsvc.scenarios;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.github.kgsvc.client.Add;
import io.github.kgsvc.client.Group;
import io.github.kgsvc.client.Listing;
import io.github.kgsvc.client.NewDocument;
import io.github.kgsvc.client.Query;
import io.github.kgsvc.client.Receipt;
import io.github.kgsvc.client.Waitable;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The operations of the client by the names that scenarios have for them; results as JSON. */
final class Steps {
  private record Kept(List<String> receipts) implements Waitable {}

  private static volatile boolean late; // a follower was told of changes after it had enough

  private final Group group;
  private final boolean async;
  private final Consumer<String> control;

  Steps(Group group, boolean async, Consumer<String> control) {
    this.group = group;
    this.async = async;
    this.control = control;
  }

  JsonElement result(JsonObject step) {
    if (late) {
      throw new Scenarios.Problem("a follower was told of changes after it had enough");
    }
    return switch (step.get("do").getAsString()) {
      case "control" -> {
        control.accept(text(step, "action"));
        yield JsonNull.INSTANCE;
      }
      case "add" -> json(done(() -> group.async().add(items(step), how(step)), () -> group.add(items(step), how(step))));
      case "stream" -> json(streamed(step));
      case "wait" -> {
        Waitable receipt = receipts(step.get("receipt"));
        Receipt.Outcome outcome = done(() -> group.async().wait(receipt), () -> group.wait(receipt));
        JsonObject states = new JsonObject();
        states.add("states", json(outcome.items().values().stream().map(item -> item.state()).toList()));
        yield states;
      }
      case "search" -> json(done(() -> group.async().search(query(step)), () -> group.search(query(step))));
      case "context" -> json(done(() -> group.async().context(query(step)), () -> group.context(query(step))));
      case "entity" -> {
        String uuid = text(step, "uuid");
        yield json(done(() -> group.async().entity(uuid, false), () -> group.entity(uuid)));
      }
      case "history" -> {
        String fact = text(step, "fact");
        yield json(done(() -> group.async().history(fact), () -> group.history(fact)));
      }
      case "episodes" -> listed(group.episodes(1_000, step.get("page_size").getAsInt()));
      case "items" -> listed(group.items(strings(step, "states")));
      case "documents" -> listed(group.documents());
      case "add_document" -> json(done(() -> group.async().addDocument(document(step)), () -> group.addDocument(document(step))));
      case "document" -> {
        String id = text(step, "id");
        yield json(
            step.has("wait")
                ? done(() -> group.async().awaitDocument(id, Duration.ofMinutes(2)), () -> group.awaitDocument(id))
                : done(() -> group.async().document(id), () -> group.document(id)));
      }
      case "forget" -> {
        forget(step);
        yield JsonNull.INSTANCE;
      }
      case "follow" -> followed(text(step, "cursor"));
      default -> throw new Scenarios.Problem("no such step");
    };
  }

  /** By the one client or by the other. */
  private <T> T done(Supplier<CompletableFuture<T>> future, Supplier<T> blocking) {
    if (!async) {
      return blocking.get();
    }
    try {
      return future.get().join();
    } catch (CompletionException failed) {
      throw failed.getCause() instanceof RuntimeException error ? error : failed;
    }
  }

  private static String text(JsonObject step, String name) {
    return step.has(name) ? step.get(name).getAsString() : null;
  }

  private static Instant time(JsonObject step, String name) {
    return step.has(name) ? Instant.parse(text(step, name)) : null;
  }

  private static String[] strings(JsonObject step, String name) {
    return step.has(name)
        ? step.getAsJsonArray(name).asList().stream().map(JsonElement::getAsString).toArray(String[]::new)
        : new String[0];
  }

  private static List<?> items(JsonObject step) {
    return step.getAsJsonArray("items").asList().stream().map(Steps::plain).toList();
  }

  private static Object plain(JsonElement value) {
    if (value.isJsonArray()) {
      return value.getAsJsonArray().asList().stream().map(Steps::plain).toList();
    }
    if (value.isJsonObject()) {
      Map<String, Object> made = new HashMap<>();
      value.getAsJsonObject().entrySet().forEach(each -> made.put(each.getKey(), plain(each.getValue())));
      return made;
    }
    return value.getAsString();
  }

  private static Add how(JsonObject step) {
    Add how = new Add().time(time(step, "time")).key(text(step, "key"));
    return step.has("wait") ? how.waiting() : how;
  }

  private static Query query(JsonObject step) {
    Query made = Query.of(text(step, "query")).asOf(time(step, "as_of")).knownAsOf(time(step, "known_as_of"));
    made = step.has("limit") ? made.limit(step.get("limit").getAsInt()) : made;
    return made.relations(strings(step, "relations"));
  }

  private static NewDocument document(JsonObject step) {
    String content = text(step, "content").repeat(step.has("repeat") ? step.get("repeat").getAsInt() : 1);
    return NewDocument.text(content).id(text(step, "id")).time(time(step, "time"));
  }

  private static Waitable receipts(JsonElement receipt) {
    if (receipt.isJsonPrimitive()) {
      return new Kept(List.of(receipt.getAsString()));
    }
    return new Kept(List.of(strings(receipt.getAsJsonObject(), "receipts")));
  }

  private Receipt.Report streamed(JsonObject step) {
    Stream<?> items = step.has("items") ? items(step).stream() : made(step);
    Instant time = time(step, "time");
    return done(() -> group.async().stream(items, time), () -> group.stream(items.iterator(), time));
  }

  private Stream<String> made(JsonObject step) {
    JsonObject actions = step.has("at") ? step.getAsJsonObject("at") : new JsonObject();
    String padding = "x".repeat(step.has("padding") ? step.get("padding").getAsInt() : 0);
    return IntStream.range(0, step.get("count").getAsInt())
        .mapToObj(
            number -> {
              String action = text(actions, Integer.toString(number));
              if (action != null) {
                control.accept(action);
              }
              return text(step, "text").replace("{n}", Integer.toString(number)) + padding;
            });
  }

  private JsonElement listed(Listing<?> listing) {
    List<Object> found = new ArrayList<>();
    if (async) {
      done(() -> listing.forEachAsync(found::add), null);
    } else {
      listing.forEach(found::add);
    }
    return json(found);
  }

  private void forget(JsonObject step) {
    if (step.has("document")) {
      String id = text(step, "document");
      done(() -> group.async().forgetDocument(id), () -> nothing(() -> group.forgetDocument(id)));
    } else if (step.has("fact")) {
      String uuid = text(step, "fact");
      done(() -> group.async().forgetFact(uuid), () -> nothing(() -> group.forgetFact(uuid)));
    } else {
      done(() -> group.async().forgetEverything(), () -> nothing(group::forgetEverything));
    }
  }

  private static Void nothing(Runnable what) {
    what.run();
    return null;
  }

  private JsonElement followed(String cursor) {
    List<Group.Changes> told = new ArrayList<>();
    Predicate<Group.Changes> take =
        changes -> {
          late |= !told.isEmpty() && told.get(told.size() - 1).current();
          told.add(changes);
          return !changes.current();
        };
    done(() -> group.async().follow(cursor, take), () -> nothing(() -> group.follow(cursor, take)));
    JsonObject found = new JsonObject();
    found.addProperty("reset", told.get(0).reset());
    found.add("facts", json(told.stream().flatMap(each -> each.facts().stream()).map(fact -> fact.text()).toList()));
    found.addProperty("removed_facts", told.stream().mapToInt(each -> each.removedFacts().size()).sum());
    found.addProperty("cursor", told.get(told.size() - 1).cursor());
    return found;
  }

  /** A result as JSON: records by the names that every client has for their fields. */
  private static JsonElement json(Object value) {
    if (value instanceof Record record) {
      JsonObject made = new JsonObject();
      for (RecordComponent component : record.getClass().getRecordComponents()) {
        made.add(snake(component.getName()), json(field(record, component)));
      }
      if (value instanceof Waitable waitable) {
        made.add("receipts", json(waitable.receipts()));
      }
      return made;
    }
    if (value instanceof Collection<?> several) {
      JsonArray made = new JsonArray();
      several.forEach(each -> made.add(json(each)));
      return made;
    }
    if (value == null) {
      return JsonNull.INSTANCE;
    }
    if (value instanceof Number number) {
      return new JsonPrimitive(number.intValue());
    }
    return value instanceof Boolean bool ? new JsonPrimitive(bool) : new JsonPrimitive(value.toString());
  }

  private static Object field(Record record, RecordComponent component) {
    try {
      return component.getAccessor().invoke(record);
    } catch (ReflectiveOperationException unreadable) {
      throw new IllegalStateException(unreadable);
    }
  }

  private static String snake(String name) {
    return name.replaceAll("([A-Z])", "_$1").toLowerCase(java.util.Locale.ROOT);
  }
}
