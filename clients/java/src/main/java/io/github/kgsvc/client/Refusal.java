package io.github.kgsvc.client;

/**
 * An item of a stream that the service does not take.
 *
 * @param index the number it had, from 0
 * @param code why, as a code
 * @param message why, as a sentence
 */
public record Refusal(long index, String code, String message) {
}
