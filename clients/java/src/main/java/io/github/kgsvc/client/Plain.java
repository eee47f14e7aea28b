package io.github.kgsvc.client;

import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import com.google.protobuf.Struct;
import com.google.protobuf.Timestamp;
import com.google.protobuf.Value;
import java.lang.reflect.Constructor;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Values of the contract as those of the language. A record shows a message: each of its components the field of its
 * name, or that which {@link From} names; null where the field is not set.
 */
final class Plain {
  /** What a component shows: a field, by its path. */
  private record Part(RecordComponent component, String path) {
    Object of(Record from) { return sure(() -> component.getAccessor().invoke(from)); }
  }

  private record Shape(Constructor<?> constructor, List<Part> parts) {
    Object made(Function<Part, Object> value) {
      Object[] values = parts.stream().map(value).toArray();
      return sure(() -> constructor.newInstance(values));
    }
  }

  private static final Map<Class<?>, Shape> SHAPES = new ConcurrentHashMap<>();

  private Plain() {}

  private interface Reflection<T> { T get() throws ReflectiveOperationException; }

  /** What cannot fail: records of this package are what is looked into. */
  private static <T> T sure(Reflection<T> reflection) {
    try {
      return reflection.get();
    } catch (ReflectiveOperationException impossible) {
      throw new AssertionError(impossible);
    }
  }

  private static Shape shape(Class<?> type) { return SHAPES.computeIfAbsent(type, Plain::inspected); }

  private static Shape inspected(Class<?> type) {
    RecordComponent[] components = type.getRecordComponents();
    Class<?>[] types = Stream.of(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
    List<Part> parts = Stream.of(components).map(each -> new Part(each, path(each))).toList();
    return new Shape(sure(() -> type.getDeclaredConstructor(types)), parts);
  }

  private static String path(RecordComponent component) {
    From from = component.getAnnotation(From.class);
    return from == null ? component.getName().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT) : from.value();
  }

  /** Makes records of messages. */
  static <T> Function<Message, T> as(Class<T> type) { return raw -> of(type, raw); }

  /** The record for a message. */
  static <T> T of(Class<T> type, Message raw) {
    return type.cast(shape(type).made(part -> read(raw, part.path(), part.component().getGenericType())));
  }

  /** A copy of a record with another value of one component. */
  @SuppressWarnings("unchecked")
  static <T extends Record> T with(T from, String name, Object value) {
    return (T) shape(from.getClass()).made(part -> part.component().getName().equals(name) ? value : part.of(from));
  }

  /** What a record tells, by the paths of the fields. */
  static Map<String, Object> fields(Record from) {
    Map<String, Object> told = new LinkedHashMap<>();
    shape(from.getClass()).parts().forEach(part -> told.put(part.path(), part.of(from)));
    told.values().removeIf(value -> value == null);
    return told;
  }

  /** Sets fields of a message, by their paths. */
  static <B extends Message.Builder> B fill(B made, Map<?, ?> fields) {
    fields.forEach((path, value) -> set(made, (String) path, value));
    return made;
  }

  private static void set(Message.Builder made, String path, Object value) {
    String[] steps = path.split("\\.", 2);
    FieldDescriptor field = made.getDescriptorForType().findFieldByName(steps[0]);
    if (steps.length > 1) {
      set(made.getFieldBuilder(field), steps[1], value);
    } else if (field.isRepeated()) {
      ((List<?>) value).forEach(each -> made.addRepeatedField(field, raw(made, field, each)));
    } else {
      made.setField(field, raw(made, field, value));
    }
  }

  private static Object raw(Message.Builder made, FieldDescriptor field, Object value) {
    if (value instanceof Instant time) {
      return Timestamp.newBuilder().setSeconds(time.getEpochSecond()).setNanos(time.getNano()).build();
    } else if (value instanceof Record record) {
      return raw(made, field, fields(record));
    } else if (value instanceof Map<?, ?> fields) {
      return fill(made.newBuilderForField(field), fields).build();
    }
    return field.getJavaType() == FieldDescriptor.JavaType.ENUM ? value(field, (String) value) : value;
  }

  private static EnumValueDescriptor value(FieldDescriptor field, String word) {
    String name = prefix(field.getEnumType().findValueByNumber(0)) + word.toUpperCase(Locale.ROOT);
    EnumValueDescriptor found = field.getEnumType().findValueByName(name);
    if (found == null) {
      throw new IllegalArgumentException("there is no " + field.getName() + " \"" + word + '"');
    }
    return found;
  }

  /** The records for messages that a field holds. */
  static <T> List<T> list(Class<T> type, Message raw, String field) {
    List<?> held = (List<?>) raw.getField(raw.getDescriptorForType().findFieldByName(field));
    return held.stream().map(each -> of(type, (Message) each)).toList();
  }

  /** The message that a field holds. */
  static Message part(Message raw, String field) {
    return (Message) raw.getField(raw.getDescriptorForType().findFieldByName(field));
  }

  /** The text that a field holds; null: it is not set. */
  static String text(Message raw, String field) { return (String) read(raw, field, String.class); }

  /** What a field holds. */
  private static Object read(Message raw, String path, Type type) {
    String[] steps = path.split("\\.", 2);
    FieldDescriptor field = raw.getDescriptorForType().findFieldByName(steps[0]);
    Object held = raw.getField(field);
    if (field.isRepeated()) {
      Type of = ((ParameterizedType) type).getActualTypeArguments()[0];
      return ((List<?>) held).stream().map(each -> shown(each, steps, of)).toList();
    }
    return field.hasPresence() && !raw.hasField(field) ? null : shown(held, steps, type);
  }

  private static Object shown(Object raw, String[] steps, Type type) {
    if (steps.length > 1) {
      return read((Message) raw, steps[1], type);
    } else if (raw instanceof Timestamp stamp) {
      return Instant.ofEpochSecond(stamp.getSeconds(), stamp.getNanos());
    } else if (raw instanceof Struct struct) {
      return map(struct);
    } else if (raw instanceof EnumValueDescriptor value) {
      String name = value.getName();
      String prefix = prefix(value.getType().findValueByNumber(0)); // without it: a value of a service that is newer
      return name.startsWith(prefix) ? name.substring(prefix.length()).toLowerCase(Locale.ROOT) : "unknown";
    }
    return raw instanceof Message message ? of((Class<?>) type, message) : raw;
  }

  /** What the values of an enum have alike, of which the first is given. */
  private static String prefix(EnumValueDescriptor none) {
    return none.getName().substring(0, none.getName().length() - "UNSPECIFIED".length());
  }

  private static Map<String, Object> map(Struct struct) {
    Map<String, Object> made = new LinkedHashMap<>();
    struct.getFieldsMap().forEach((name, value) -> made.put(name, json(value)));
    return made;
  }

  private static Object json(Value value) {
    return switch (value.getKindCase()) {
      case STRING_VALUE -> value.getStringValue();
      case NUMBER_VALUE -> value.getNumberValue();
      case BOOL_VALUE -> value.getBoolValue();
      case STRUCT_VALUE -> map(value.getStructValue());
      case LIST_VALUE -> value.getListValue().getValuesList().stream().map(Plain::json).toList();
      default -> null;
    };
  }
}
