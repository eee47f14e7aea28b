package io.github.kgsvc.client;

import com.google.protobuf.ByteString;
import io.github.kgsvc.client.Calls.Call;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import kgsvc.v1.AddDocumentsInput;
import kgsvc.v1.AddDocumentsOutput;
import kgsvc.v1.DocumentItem;
import kgsvc.v1.IngestionServiceGrpc;
import kgsvc.v1.StreamDocumentsRequest;
import kgsvc.v1.StreamDocumentsResponse;

/** Sends a document, in parts if it is larger than a call may be. */
final class Uploading {
  private static final int WHOLE = 3 << 20;
  private static final int PART = 1 << 20;

  private Uploading() {}

  static CompletableFuture<AddedDocument> send(Calls calls, String group, NewDocument given, Instant now) {
    DocumentItem.Builder item = DocumentItem.newBuilder();
    Plain.set(given.id(), item::setDocumentId);
    Plain.set(given.title(), item::setTitle);
    Plain.set(given.sourceUrl(), item::setSourceUrl);
    Plain.set(given.author(), item::setAuthor);
    Plain.set(given.path(), item::setPath);
    Instant time = given.time();
    ByteString content;
    if (given.text() != null) {
      content = ByteString.copyFromUtf8(given.text());
    } else if (given.data() != null) {
      content = ByteString.copyFrom(given.data());
    } else {
      content = read(Path.of(given.path()));
      time = time == null ? changed(Path.of(given.path())) : time;
    }
    item.setReferenceTime(Plain.stamp(time == null ? now : time));
    boolean isText = given.text() != null;
    if (content.size() > WHOLE) {
      return inParts(calls, group, isText ? item.setText("") : item.setData(ByteString.EMPTY), content);
    }
    return whole(calls, group, isText ? item.setTextBytes(content) : item.setData(content));
  }

  private static ByteString read(Path file) {
    try {
      return ByteString.copyFrom(Files.readAllBytes(file));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  private static Instant changed(Path file) {
    try {
      return Files.getLastModifiedTime(file).toInstant();
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  private static CompletableFuture<AddedDocument> whole(Calls calls, String group, DocumentItem.Builder item) {
    return calls.one(
        IngestionServiceGrpc.getAddDocumentsMethod(),
        AddDocumentsInput.newBuilder().setGroupId(group).addDocuments(item),
        (AddDocumentsOutput added) -> AddedDocument.of(added.getDocuments(0)));
  }

  private static CompletableFuture<AddedDocument> inParts(
      Calls calls, String group, DocumentItem.Builder item, ByteString content) {
    AtomicReference<StreamDocumentsResponse> last = new AtomicReference<>();
    Call<StreamDocumentsRequest, StreamDocumentsResponse> call =
        new Call<>(
            IngestionServiceGrpc.getStreamDocumentsMethod(),
            id -> parts(group, item, content),
            Calls.WAIT,
            Attempts.TRIES);
    return Calls.then(
        calls.each(call, last::set, false),
        done -> {
          StreamDocumentsResponse answer = last.get();
          if (answer.hasError()) {
            throw Failure.of(answer.getError().getErrorCode(), answer.getError().getMessage(), answer.getRequestId());
          }
          return AddedDocument.of(answer.getDocument());
        });
  }

  private static Iterator<StreamDocumentsRequest> parts(
      String group, DocumentItem.Builder item, ByteString content) {
    StreamDocumentsRequest head = StreamDocumentsRequest.newBuilder().setGroupId(group).setDocument(item).build();
    int parts = (content.size() + PART - 1) / PART;
    Stream<StreamDocumentsRequest> rest =
        IntStream.range(0, parts)
            .mapToObj(
                part ->
                    StreamDocumentsRequest.newBuilder()
                        .setMore(content.substring(part * PART, Math.min(content.size(), (part + 1) * PART)))
                        .setLast(part == parts - 1)
                        .build());
    return Stream.concat(Stream.of(head), rest).iterator();
  }
}
