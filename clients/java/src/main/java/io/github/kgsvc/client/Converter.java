package io.github.kgsvc.client;

import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** Makes items of what callers have: chat messages, texts, JSON. */
final class Converter {
  // Of chats: instructions, and what programs answered.
  private static final Set<String> SILENT = Set.of("system", "developer", "tool", "function");
  private static final Set<String> TEXTS = Set.of("text", "input_text", "output_text");

  private Instant time;

  /** `time` is that of the first item which tells none, null: now; the next keep order, a millisecond each. */
  Converter(Instant time) { this.time = time == null ? Instant.now() : time; }

  /** As a {@link Message} or {@link Note} with a time; null: nobody said it (instructions, output of tools, nothing). */
  Record item(Object given) {
    if (given instanceof String text) {
      return item(Note.text(text));
    } else if (given instanceof Note note) {
      return note.time() == null ? note.at(next()) : note;
    } else if (given instanceof Message message) {
      return message.time() == null ? message.at(next()) : message;
    } else if (given instanceof Map<?, ?> chat) {
      Message said = ofChat(chat);
      return said == null ? null : item(said);
    }
    String kind = given == null ? "null" : given.getClass().getName();
    throw new IllegalArgumentException(kind + " cannot be added: give text, a message of a chat, a Message or a Note");
  }

  private Instant next() {
    Instant now = time;
    time = time.plusMillis(1);
    return now;
  }

  /** `{"role": ..., "content": text or parts}`, with `name`, `timestamp` and `uuid` if they are there. */
  private static Message ofChat(Map<?, ?> given) {
    if (!(given.get("role") instanceof String role)) {
      throw new IllegalArgumentException(
          "a map must be a message of a chat: {\"role\": ..., \"content\": ...}; else use Note");
    }
    String content = String.join("\n", texts(given.get("content")).toList()).strip();
    if (SILENT.contains(role) || content.isEmpty()) {
      return null;
    }
    Instant time = time(given.get("timestamp"));
    return new Message(content, role, (String) given.get("name"), time, (String) given.get("uuid"), null, null);
  }

  private static Instant time(Object told) {
    if (told instanceof Number seconds) {
      return Instant.ofEpochMilli(Math.round(seconds.doubleValue() * 1_000));
    }
    return told instanceof String text ? OffsetDateTime.parse(text).toInstant() : (Instant) told;
  }

  /** The texts of a content: of several parts those that are text. */
  private static Stream<String> texts(Object content) {
    if (content instanceof Collection<?> parts) {
      return parts.stream().flatMap(Converter::texts);
    } else if (content instanceof Map<?, ?> part && part.get("type") instanceof String type) {
      return TEXTS.contains(type) ? texts(part.get("text")) : Stream.empty();
    }
    return content instanceof String text ? Stream.of(text) : Stream.empty();
  }
}
