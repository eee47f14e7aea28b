package io.github.kgsvc.client;

import com.google.protobuf.ByteString;
import com.google.protobuf.Message;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * A document to add, or a new text of one. It is the same document by id, else by sourceUrl, else by path.
 *
 * @param text its text; null: there is data
 * @param data the bytes of a file; null: there is text
 * @param path where the file is, or what it is called, which tells its format; null: not told
 * @param id its id; null: the service makes one
 * @param title its title; null: not told
 * @param sourceUrl where it may be read; null: not told
 * @param author who wrote it; null: not told
 * @param time when the text was true; null: now
 */
public record NewDocument(
    String text, byte[] data, String path, @From("document_id") String id, String title, String sourceUrl,
    String author, @From("reference_time") Instant time) {
  private static final int WHOLE = 3 << 20;
  private static final int PART = 1 << 20;

  /**
   * A file, which is read at once.
   *
   * @param file where it is
   * @return the document, with its path and when it was last changed
   * @throws UncheckedIOException if it cannot be read
   */
  public static NewDocument of(Path file) {
    try {
      Instant changed = Files.getLastModifiedTime(file).toInstant();
      return new NewDocument(null, Files.readAllBytes(file), file.toString(), null, null, null, null, changed);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /**
   * A text.
   *
   * @param text the text
   * @return the document
   */
  public static NewDocument text(String text) {
    return new NewDocument(text, null, null, null, null, null, null, null);
  }

  /**
   * A file of which the bytes are at hand.
   *
   * @param data its bytes
   * @param path what it is called, which tells its format
   * @return the document
   */
  public static NewDocument data(byte[] data, String path) {
    return new NewDocument(null, data, path, null, null, null, null, null);
  }

  /**
   * The same with path.
   *
   * @param path where the file is, or what it is called; null: not told
   * @return the same with it
   */
  public NewDocument path(String path) { return Plain.with(this, "path", path); }

  /**
   * The same with id.
   *
   * @param id its id; null: the service makes one
   * @return the same with it
   */
  public NewDocument id(String id) { return Plain.with(this, "id", id); }

  /**
   * The same with title.
   *
   * @param title its title; null: not told
   * @return the same with it
   */
  public NewDocument title(String title) { return Plain.with(this, "title", title); }

  /**
   * The same with sourceUrl.
   *
   * @param sourceUrl where it may be read; null: not told
   * @return the same with it
   */
  public NewDocument sourceUrl(String sourceUrl) { return Plain.with(this, "sourceUrl", sourceUrl); }

  /**
   * The same with author.
   *
   * @param author who wrote it; null: not told
   * @return the same with it
   */
  public NewDocument author(String author) { return Plain.with(this, "author", author); }

  /**
   * The same with time.
   *
   * @param time when the text was true; null: now
   * @return the same with it
   */
  public NewDocument time(Instant time) { return Plain.with(this, "time", time); }

  /** What the service says of one that came in parts: without a code it has it. */
  record Answered(
      Document.Added document, @From("error.error_code") String code, @From("error.message") String message,
      String requestId) {
    Document.Added stored() {
      if (code != null) {
        throw new KgsvcException(code, message, requestId);
      }
      return document;
    }
  }

  /** Sends it to a group, in parts if it is larger than a call may be. */
  CompletableFuture<Document.Added> send(Calls calls, String group) {
    Map<String, Object> item = Plain.fields(this);
    item.putIfAbsent("reference_time", Instant.now());
    ByteString content = text != null ? ByteString.copyFromUtf8(text) : ByteString.copyFrom(data);
    if (content.size() > WHOLE) {
      item.replace("text", "");
      item.replace("data", ByteString.EMPTY);
      return inParts(calls, group, item, content);
    }
    item.replace("data", content);
    var input = Map.of("group_id", group, "documents", List.of(item));
    return calls.one("AddDocuments", input, added -> Plain.list(Document.Added.class, added, "documents").get(0));
  }

  private static CompletableFuture<Document.Added> inParts(
      Calls calls, String group, Map<String, Object> item, ByteString content) {
    List<Document.Added> answers = new ArrayList<>(1);
    var call =
        new Calls.Call(
            "StreamDocuments", id -> parts(group, item, content).iterator(), Calls.WAIT, Calls.TRIES, Calls.Kind.WHOLE,
            answer -> answers.add(Plain.of(Answered.class, answer).stored()));
    return Calls.then(calls.new Running(call), done -> answers.get(0));
  }

  private static List<Message> parts(String group, Map<String, Object> item, ByteString content) {
    List<Message> parts = new ArrayList<>();
    parts.add(Calls.request("StreamDocuments", Map.of("group_id", group, "document", item)).build());
    for (int from = 0; from < content.size(); from += PART) {
      int to = Math.min(from + PART, content.size());
      var more = Map.of("more", content.substring(from, to), "last", to == content.size());
      parts.add(Calls.request("StreamDocuments", more).build());
    }
    return parts;
  }
}
