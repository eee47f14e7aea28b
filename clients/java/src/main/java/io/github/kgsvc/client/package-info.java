/**
 * The client of kgsvc, a memory service: what was said, what is known, and what was true when.
 *
 * <pre>{@code
 * try (Client client = Client.connect()) {
 *   Group memory = client.group("alice");
 *   memory.add(List.of(Map.of("role", "user", "content", "I moved to Berlin.")), new Add().waiting());
 *   System.out.println(memory.context("Where does Alice live?"));
 * }
 * }</pre>
 */
package io.github.kgsvc.client;
