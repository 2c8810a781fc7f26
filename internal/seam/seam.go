// Package seam lets a program that is built with the tag lab wrap the parts that
// worker and producer are composed of, to observe or change what they do. Shipped
// programs wrap nothing.
package seam

import "reflect"

var wrappers = map[reflect.Type]any{}

// Wrap makes Part return wrap(v) for values of type T. It is called by init
// functions only.
func Wrap[T any](wrap func(v T) T) { wrappers[reflect.TypeFor[T]()] = wrap }

// Part returns v, wrapped when T is.
func Part[T any](v T) T {
	if wrap, ok := wrappers[reflect.TypeFor[T]()].(func(T) T); ok {
		return wrap(v)
	}
	return v
}
