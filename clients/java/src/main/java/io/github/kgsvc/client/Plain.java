package io.github.kgsvc.client;

import com.google.protobuf.ProtocolMessageEnum;
import com.google.protobuf.Struct;
import com.google.protobuf.Timestamp;
import com.google.protobuf.Value;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;

/** Values of the contract as those of the language. */
final class Plain {
  private Plain() {}

  static Timestamp stamp(Instant time) {
    return Timestamp.newBuilder().setSeconds(time.getEpochSecond()).setNanos(time.getNano()).build();
  }

  static Instant time(Timestamp stamp) {
    return Instant.ofEpochSecond(stamp.getSeconds(), stamp.getNanos());
  }

  static Instant time(boolean there, Timestamp stamp) {
    return there ? time(stamp) : null;
  }

  static <T> T maybe(boolean there, T value) {
    return there ? value : null;
  }

  static <T> void set(T value, Consumer<T> setter) {
    if (value != null) {
      setter.accept(value);
    }
  }

  /** A value of an enum without the prefix that all have, such as completed. */
  static String word(ProtocolMessageEnum value) {
    String name = ((Enum<?>) value).name();
    if (name.equals("UNRECOGNIZED")) { // of a service that is newer
      return "unknown";
    }
    String none = value.getDescriptorForType().findValueByNumber(0).getName();
    String prefix = none.substring(0, none.length() - "UNSPECIFIED".length());
    return name.substring(prefix.length()).toLowerCase(Locale.ROOT);
  }

  static <A, B> List<B> list(List<A> from, Function<A, B> of) {
    return from.stream().map(of).toList();
  }

  static Map<String, Object> map(Struct struct) {
    Map<String, Object> made = new LinkedHashMap<>();
    struct.getFieldsMap().forEach((name, value) -> made.put(name, value(value)));
    return made;
  }

  private static Object value(Value value) {
    return switch (value.getKindCase()) {
      case STRING_VALUE -> value.getStringValue();
      case NUMBER_VALUE -> value.getNumberValue();
      case BOOL_VALUE -> value.getBoolValue();
      case STRUCT_VALUE -> map(value.getStructValue());
      case LIST_VALUE -> value.getListValue().getValuesList().stream().map(Plain::value).toList();
      default -> null;
    };
  }
}
