package io.github.kgsvc.client;

import java.util.List;

/**
 * An answer in words.
 *
 * @param text the answer; null: there is none
 * @param known false: the memory does not hold the answer; null: not told
 * @param citations what its claims rest on
 * @param sources the texts of the sources
 */
public record Answer(String text, Boolean known, List<Citation> citations, List<String> sources) {
  static Answer of(kgsvc.v1.AskResult raw) {
    return new Answer(
        Plain.maybe(raw.hasAnswer(), raw.getAnswer()), Plain.maybe(raw.hasKnown(), raw.getKnown()),
        Plain.list(raw.getCitationsList(), Citation::of), List.copyOf(raw.getSourceTextsList()));
  }
}
