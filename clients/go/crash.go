package happycity

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
)

// A panicError is a panic of the author's code.
type panicError struct {
	value any
	place string // in the author's code, such as "main.go:12"; "" if it isn't known
	stack []byte
}

func (e *panicError) Error() string {
	if e.place == "" {
		return fmt.Sprintf("panic: %v", e.value)
	}
	return fmt.Sprintf("panic: %v (%s)", e.value, e.place)
}

// recovered turns a panic of the author's code into an error.
func recovered(err *error) {
	if value := recover(); value != nil {
		*err = &panicError{value: value, place: panicPlace(), stack: debug.Stack()}
	}
}

// panicPlace returns the innermost place in the author's code: in package main, or elsewhere in its module.
func panicPlace() string {
	own, module := reflect.TypeFor[panicError]().PkgPath(), "main"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path != "" {
		module = info.Main.Path
	}
	var callers [100]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		name := packageOf(frame.Function)
		if name == "main" || name != own && strings.HasPrefix(name, module) {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// packageOf returns the import path in the full name of a function, such as "example.org/bot.(*Bot).Choose".
func packageOf(function string) string {
	folder := strings.LastIndex(function, "/") + 1
	name, _, _ := strings.Cut(function[folder:], ".")
	return function[:folder] + name
}
