package config

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Setting describes one setting: a row of the settings table.
type Setting struct {
	Name, Default, About string
	Required             bool
}

// Settings lists the settings of a settings struct and its sections, in the order of their
// fields. It hides the default of a secret.
func Settings(v any) []Setting {
	var all []Setting
	for _, f := range fields(reflect.ValueOf(v), "") {
		if f.value.Type() == reflect.TypeFor[Secret]() {
			f.Default = Secret(f.Default).String()
		}
		all = append(all, f.Setting)
	}
	return all
}

// Names returns the sorted names of the variables that the settings structs read.
func Names(structs ...any) []string {
	var names []string
	for _, v := range structs {
		for _, s := range Settings(v) {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// field is a setting and the struct field that it fills.
type field struct {
	Setting
	value reflect.Value
}

func fields(v reflect.Value, prefix string) []field {
	v = reflect.Indirect(v)
	var all []field
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		name, options, _ := strings.Cut(tag.Get("env"), ",")
		if name != "" {
			s := Setting{Name: prefix + name, Default: tag.Get("envDefault"), About: tag.Get("doc"), Required: options == "required"}
			all = append(all, field{s, v.Field(i)})
		} else if v.Field(i).Kind() == reflect.Struct {
			all = append(all, fields(v.Field(i), prefix+tag.Get("envPrefix"))...)
		}
	}
	return all
}

// read fills the field from e, or with its default. Libraries for this exist, but their
// errors name the struct field instead of the variable.
func (f field) read(e Env) error {
	text, given, err := e.lookup(f.Name)
	switch {
	case given:
		if err = set(f.value, text); err == nil {
			return nil
		}
		err = fmt.Errorf("%s is %q; it must be %w", f.Name, text, err)
	case err == nil && f.Required:
		err = fmt.Errorf("%s is required", f.Name)
	}
	if f.Default == "" {
		return err
	}
	if wrong := set(f.value, f.Default); wrong != nil {
		return fmt.Errorf("%s has an invalid default; it must be %w", f.Name, wrong)
	}
	return err
}

// set parses text into v. The error describes the values that v accepts.
func set(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch {
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Type() == reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(text)
		if err != nil {
			return errors.New("a duration such as 500ms, 30s or 24h")
		}
		v.SetInt(int64(d))
	case v.Kind() == reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return errors.New("a whole number")
		}
		v.SetInt(int64(n))
	case v.Kind() == reflect.Slice:
		return setList(v, strings.Split(text, ","))
	default:
		return fmt.Errorf("a setting of a supported type, not %s", v.Type())
	}
	return nil
}

// setList parses the items of a list into v.
func setList(v reflect.Value, items []string) error {
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		if err := set(list.Index(i), item); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}
