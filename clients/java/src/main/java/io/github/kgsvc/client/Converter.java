package io.github.kgsvc.client;

import com.google.protobuf.Timestamp;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import kgsvc.v1.EpisodeItem;
import kgsvc.v1.RoleType;
import kgsvc.v1.Source;
import kgsvc.v1.StreamEpisodesRequest;

/** Makes items of what callers have: chat messages, texts, JSON. */
final class Converter {
  private static final Map<String, RoleType> ROLES =
      Map.of(
          "user", RoleType.ROLE_TYPE_USER,
          "assistant", RoleType.ROLE_TYPE_ASSISTANT,
          "system", RoleType.ROLE_TYPE_SYSTEM);
  // Of chats: instructions, and what programs answered.
  private static final Set<String> SILENT = Set.of("system", "developer", "tool", "function");
  private static final Set<String> TEXTS = Set.of("text", "input_text", "output_text");

  private Instant time;

  /** `time` is that of the first item which tells none; the next are later by a millisecond each: they keep order. */
  Converter(Instant time) {
    this.time = time;
  }

  /** As a stream carries it; null: nobody said it (instructions, output of tools, empty messages). */
  StreamEpisodesRequest streamed(String group, Object given) {
    Object item = item(given);
    var request = StreamEpisodesRequest.newBuilder().setGroupId(group);
    if (item instanceof kgsvc.v1.Message message) {
      return request.setMessage(message).build();
    }
    return item == null ? null : request.setEpisode((EpisodeItem) item).build();
  }

  /** As it is sent: a message or an episode of the contract, or null as above. */
  Object item(Object given) {
    if (given instanceof String text) {
      return note(Note.text(text));
    } else if (given instanceof Note note) {
      return note(note);
    } else if (given instanceof Message message) {
      return message(message);
    } else if (given instanceof Map<?, ?> chat) {
      Message said = ofChat(chat);
      return said == null ? null : message(said);
    }
    String kind = given == null ? "null" : given.getClass().getName();
    throw new IllegalArgumentException(kind + " cannot be added: give text, a message of a chat, a Message or a Note");
  }

  private Timestamp at(Instant told) {
    if (told != null) {
      return Plain.stamp(told);
    }
    Timestamp made = Plain.stamp(time);
    time = time.plusMillis(1);
    return made;
  }

  private kgsvc.v1.Message message(Message said) {
    RoleType role = ROLES.get(said.role());
    if (role == null) {
      throw new IllegalArgumentException("role must be user, assistant or system");
    }
    var made =
        kgsvc.v1.Message.newBuilder().setRoleType(role).setContent(said.content()).setTimestamp(at(said.time()));
    Plain.set(said.uuid(), made::setUuid);
    Plain.set(said.name(), made::setRole);
    Plain.set(said.sourceDescription(), made::setSourceDescription);
    Plain.set(said.sourceUrl(), made::setSourceUrl);
    return made.build();
  }

  private EpisodeItem note(Note note) {
    var made =
        EpisodeItem.newBuilder()
            .setSource(note.json() ? Source.SOURCE_JSON : Source.SOURCE_TEXT)
            .setBody(note.body())
            .setReferenceTime(at(note.time()));
    Plain.set(note.uuid(), made::setUuid);
    Plain.set(note.name(), made::setName);
    Plain.set(note.sourceDescription(), made::setSourceDescription);
    Plain.set(note.sourceUrl(), made::setSourceUrl);
    return made.build();
  }

  /** `{"role": ..., "content": text or parts}`, with `name`, `timestamp` and `uuid` if they are there. */
  private static Message ofChat(Map<?, ?> given) {
    if (!(given.get("role") instanceof String role)) {
      throw new IllegalArgumentException(
          "a map must be a message of a chat: {\"role\": ..., \"content\": ...}; else use Note");
    }
    String content = texts(given.get("content")).collect(Collectors.joining("\n")).strip();
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
    if (content instanceof String text) {
      return Stream.of(text);
    }
    Collection<?> parts = content instanceof Collection<?> several ? several : List.of();
    return parts.stream()
        .filter(part -> part instanceof String || part instanceof Map<?, ?> map && TEXTS.contains(map.get("type")))
        .map(part -> part instanceof Map<?, ?> map ? (String) map.get("text") : (String) part);
  }
}
