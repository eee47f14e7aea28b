package io.github.kgsvc.scenarios;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.kgsvc.client.Client;
import io.github.kgsvc.client.Group;
import io.github.kgsvc.client.KgsvcException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** The driver of clients/scenarios for Java; see the README there. Started as `[--async] SETUP SCENARIOS`. */
public final class Scenarios {
  /** What is not as expected. */
  static final class Problem extends RuntimeException {
    Problem(String message) {
      super(message);
    }
  }

  private static final Gson JSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();

  private final JsonObject setup;
  private final boolean async;
  private final HttpClient http = HttpClient.newBuilder().proxy(HttpClient.Builder.NO_PROXY).build();
  private final Map<String, JsonElement> kept = new HashMap<>();

  private Scenarios(JsonObject setup, boolean async) {
    this.setup = setup;
    this.async = async;
  }

  public static void main(String[] arguments) throws IOException {
    int at = arguments.length - 2;
    JsonObject setup = read(arguments[at]).getAsJsonObject();
    Scenarios driver = new Scenarios(setup, arguments[0].equals("--async"));
    int problems = 0;
    int number = 0;
    for (JsonElement each : read(arguments[at + 1]).getAsJsonArray()) {
      String problem = driver.scenario(number++, each.getAsJsonObject());
      problems += problem == null ? 0 : 1;
      JsonObject line = new JsonObject();
      line.add("name", each.getAsJsonObject().get("name"));
      line.addProperty("problem", problem);
      System.out.println(JSON.toJson(line));
    }
    System.exit(Math.min(problems, 1));
  }

  private static JsonElement read(String file) throws IOException {
    return JsonParser.parseString(Files.readString(Path.of(file)));
  }

  /** Why it failed; null: it did not. */
  private String scenario(int number, JsonObject scenario) {
    kept.clear();
    int at = 0;
    try (Client client = client(scenario)) {
      Group group = client.group(setup.get("group").getAsString() + "-" + number);
      for (JsonElement each : scenario.getAsJsonArray("steps")) {
        try {
          step(group, each.getAsJsonObject());
        } catch (Problem problem) {
          return "step " + at + ", " + each.getAsJsonObject().get("do") + ": " + problem.getMessage();
        }
        at++;
      }
    }
    return null;
  }

  private Client client(JsonObject scenario) {
    String name = scenario.has("world") ? scenario.get("world").getAsString() : "open";
    JsonObject world = setup.getAsJsonObject("worlds").getAsJsonObject(name);
    Client.Builder builder = Client.builder().server(world.get("server").getAsString());
    if (world.has("tls_ca")) {
      builder.tlsCa(Path.of(world.get("tls_ca").getAsString()));
    }
    if (scenario.has("token")) {
      builder.token(world.getAsJsonObject("tokens").get(scenario.get("token").getAsString()).getAsString());
    }
    if (scenario.has("timeout_s")) {
      builder.timeout(Duration.ofNanos(Math.round(scenario.get("timeout_s").getAsDouble() * 1e9)));
    }
    return builder.build();
  }

  private void step(Group group, JsonObject step) {
    Steps steps = new Steps(group, async, this::control);
    long before = peakKib();
    JsonElement result;
    try {
      result = steps.result(filled(step).getAsJsonObject());
    } catch (KgsvcException error) {
      if (!step.has("error")) {
        throw new Problem("failed: " + error + " (fields " + error.fields() + ")");
      }
      check(step.get("error"), refused(error), "error");
      return;
    }
    if (step.has("error")) {
      throw new Problem("did not fail, but answered " + result);
    }
    long grown = (peakKib() - before) / 1024;
    if (step.has("grows_mib") && grown > step.get("grows_mib").getAsLong()) {
      throw new Problem("the process grew by " + grown + " MiB");
    }
    kept.put(step.has("as") ? step.get("as").getAsString() : "", result);
    if (step.has("expect")) {
      check(filled(step.get("expect")), result, "result");
    }
    if (step.has("contains") && !result.getAsString().contains(step.get("contains").getAsString())) {
      throw new Problem(result + " does not contain " + step.get("contains"));
    }
    if (step.has("distinct")) {
      int wanted = step.get("distinct").getAsInt();
      JsonArray found = result.getAsJsonArray();
      if (found.size() != wanted || Set.copyOf(found.asList()).size() != wanted) {
        throw new Problem("there are " + found.size() + " entries");
      }
    }
  }

  private static JsonObject refused(KgsvcException error) {
    JsonObject found = new JsonObject();
    JsonArray fields = new JsonArray();
    error.fields().forEach(each -> fields.add(each.field()));
    found.addProperty("code", error.code());
    found.add("fields", fields);
    found.addProperty("request_id", !error.requestId().isEmpty());
    found.addProperty("retry_after", error.retryDelay() != null);
    return found;
  }

  /** Throws Problem where the result lacks something. */
  private static void check(JsonElement expected, JsonElement found, String where) {
    if (expected.isJsonObject() && found != null && found.isJsonObject()) {
      expected
          .getAsJsonObject()
          .entrySet()
          .forEach(each -> check(each.getValue(), found.getAsJsonObject().get(each.getKey()), where + "." + each.getKey()));
    } else if (expected.isJsonArray() && found != null && found.isJsonArray()) {
      if (expected.getAsJsonArray().size() != found.getAsJsonArray().size()) {
        throw new Problem(where + " is " + found + ", not " + expected);
      }
      for (int at = 0; at < expected.getAsJsonArray().size(); at++) {
        check(expected.getAsJsonArray().get(at), found.getAsJsonArray().get(at), where + "[" + at + "]");
      }
    } else if (!expected.equals(found)) {
      throw new Problem(where + " is " + found + ", not " + expected);
    }
  }

  /** With `$name.part` as it was kept. */
  private JsonElement filled(JsonElement value) {
    if (value.isJsonObject()) {
      JsonObject made = new JsonObject();
      value.getAsJsonObject().entrySet().forEach(each -> made.add(each.getKey(), filled(each.getValue())));
      return made;
    }
    if (value.isJsonArray()) {
      JsonArray made = new JsonArray();
      value.getAsJsonArray().forEach(each -> made.add(filled(each)));
      return made;
    }
    if (!value.isJsonPrimitive() || !value.getAsString().startsWith("$")) {
      return value;
    }
    String[] parts = value.getAsString().substring(1).split("\\.");
    JsonElement found = kept.getOrDefault(parts[0], value);
    for (int at = 1; at < parts.length && found != value; at++) {
      found =
          found.isJsonArray()
              ? found.getAsJsonArray().get(Integer.parseInt(parts[at]))
              : found.getAsJsonObject().get(parts[at]);
    }
    return found;
  }

  private void control(String action) {
    URI address = URI.create(setup.get("control").getAsString() + "/" + action);
    try {
      http.send(
          HttpRequest.newBuilder(address).timeout(Duration.ofSeconds(30)).build(),
          HttpResponse.BodyHandlers.discarding());
    } catch (IOException | InterruptedException failed) {
      throw new IllegalStateException(failed);
    }
  }

  /** The most memory that the process has had. */
  private static long peakKib() {
    try {
      return Files.readAllLines(Path.of("/proc/self/status")).stream()
          .filter(line -> line.startsWith("VmHWM:"))
          .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
          .findFirst()
          .orElseThrow();
    } catch (IOException unreadable) {
      throw new IllegalStateException(unreadable);
    }
  }
}
