package io.github.kgsvc.client;

import java.nio.file.Path;
import java.time.Instant;

/**
 * A document to add, or a new text of one. It is the same document by id, else by sourceUrl, else by path.
 *
 * @param text its text; null: there is data, or the file at path is read
 * @param data the bytes of a file; null: there is text, or the file at path is read
 * @param path where the file is, or what it is called; null: not told
 * @param id its id; null: the service makes one
 * @param title its title; null: not told
 * @param sourceUrl where it may be read; null: not told
 * @param author who wrote it; null: not told
 * @param time when the text was true; null: when the file was last changed, or now
 */
public record NewDocument(
    String text, byte[] data, String path, String id, String title, String sourceUrl, String author, Instant time) {
  /**
   * A file.
   *
   * @param file where it is
   * @return the document
   */
  public static NewDocument of(Path file) {
    return new NewDocument(null, null, file.toString(), null, null, null, null, null);
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
  public NewDocument path(String path) {
    return new NewDocument(text, data, path, id, title, sourceUrl, author, time);
  }

  /**
   * The same with id.
   *
   * @param id its id; null: the service makes one
   * @return the same with it
   */
  public NewDocument id(String id) { return new NewDocument(text, data, path, id, title, sourceUrl, author, time); }

  /**
   * The same with title.
   *
   * @param title its title; null: not told
   * @return the same with it
   */
  public NewDocument title(String title) {
    return new NewDocument(text, data, path, id, title, sourceUrl, author, time);
  }

  /**
   * The same with sourceUrl.
   *
   * @param sourceUrl where it may be read; null: not told
   * @return the same with it
   */
  public NewDocument sourceUrl(String sourceUrl) {
    return new NewDocument(text, data, path, id, title, sourceUrl, author, time);
  }

  /**
   * The same with author.
   *
   * @param author who wrote it; null: not told
   * @return the same with it
   */
  public NewDocument author(String author) {
    return new NewDocument(text, data, path, id, title, sourceUrl, author, time);
  }

  /**
   * The same with time.
   *
   * @param time when the text was true; null: when the file was last changed, or now
   * @return the same with it
   */
  public NewDocument time(Instant time) {
    return new NewDocument(text, data, path, id, title, sourceUrl, author, time);
  }
}
