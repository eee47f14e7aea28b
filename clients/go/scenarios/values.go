// Results as JSON has them, and what is expected of them.

package main

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/kgsvc/kgsvc/clients/go/kgsvc"
)

// kept are the results of former steps, as they were and as JSON.
type kept struct{ raw, plain object }

var border = regexp.MustCompile("([a-z])([A-Z])")

// filled is a value with `$name.part` as it was kept.
func (k kept) filled(value any) any {
	switch value := value.(type) {
	case object:
		made := object{}
		for name, each := range value {
			made[name] = k.filled(each)
		}
		return made
	case []any:
		made := make([]any, len(value))
		for at, each := range value {
			made[at] = k.filled(each)
		}
		return made
	case string:
		if path, named := strings.CutPrefix(value, "$"); named {
			return k.part(strings.Split(path, "."))
		}
	}
	return value
}

func (k kept) part(path []string) any {
	var found any = k.plain
	for _, part := range path {
		if list, is := found.([]any); is {
			at, err := strconv.Atoi(part)
			if err != nil || at >= len(list) {
				return nil
			}
			found = list[at]
			continue
		}
		within, _ := found.(object)
		found = within[part]
	}
	return found
}

// plain is a result as JSON has it.
func plain(value any) any {
	switch value := value.(type) {
	case time.Time:
		if value.IsZero() {
			return nil
		}
		return value.UTC().Format(time.RFC3339Nano)
	case kgsvc.Outcome:
		states := []any{}
		for _, item := range value {
			states = append(states, item.State)
		}
		return object{"states": states}
	case object:
		return value
	}
	found := reflect.ValueOf(value)
	switch found.Kind() {
	case reflect.Pointer:
		if found.IsNil() {
			return nil
		}
		return plain(found.Elem().Interface())
	case reflect.String:
		return found.String()
	case reflect.Int, reflect.Int64:
		return float64(found.Int())
	case reflect.Slice:
		made := make([]any, found.Len())
		for at := range made {
			made[at] = plain(found.Index(at).Interface())
		}
		return made
	case reflect.Struct:
		made := object{}
		fields(found, made)
		return made
	}
	return value
}

// fields adds the fields of a struct, and of those in it, by the names that every client has.
func fields(from reflect.Value, to object) {
	for at := range from.NumField() {
		field := from.Type().Field(at)
		switch {
		case field.Name == "Raw":
		case field.Anonymous:
			fields(from.Field(at), to)
		default:
			name := border.ReplaceAllString(field.Name, "${1}_${2}")
			to[strings.ToLower(name)] = plain(from.Field(at).Interface())
		}
	}
}

// check tells where a result lacks something.
func check(expected, found any, where string) error {
	switch expected := expected.(type) {
	case nil:
		return nil
	case object:
		within, _ := found.(object)
		for name, each := range expected {
			if err := check(each, within[name], where+"."+name); err != nil {
				return err
			}
		}
		return nil
	case []any:
		list, is := found.([]any)
		if !is || len(list) != len(expected) {
			return fmt.Errorf("%s is %v, not %v", where, found, expected)
		}
		for at, each := range expected {
			if err := check(each, list[at], fmt.Sprintf("%s[%d]", where, at)); err != nil {
				return err
			}
		}
		return nil
	}
	if expected != found {
		return fmt.Errorf("%s is %v, not %v", where, found, expected)
	}
	return nil
}
