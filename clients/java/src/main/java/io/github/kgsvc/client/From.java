package io.github.kgsvc.client;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** The field of the contract that a component of a record shows, where its name is another: a path, as `node.uuid`. */
@Retention(RetentionPolicy.RUNTIME)
@interface From {
  String value();
}
