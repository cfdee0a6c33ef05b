package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// list is the value of a flag that takes several numbers, separated by commas. The first use replaces the default, later ones add to it.
type list[T any] struct {
	to    *[]T
	given bool
	parse func(string) (T, error)
	show  func(T) string
	wants string // completes "wants …"
}

// listError is an entry of a list that is none.
type listError struct{ word, wants string }

// Error implements error.
func (e listError) Error() string { return fmt.Sprintf("%q: wants %s", e.word, e.wants) }

// Set implements [pflag.Value]; an empty text is an empty list.
func (l *list[T]) Set(text string) error {
	var values []T
	for word := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		v, err := l.parse(strings.TrimSpace(word))
		if err != nil {
			return listError{word, l.wants}
		}
		values = append(values, v)
	}
	if l.given {
		values = append(*l.to, values...)
	}
	*l.to, l.given = values, true
	return nil
}

// String implements [pflag.Value]: the list as it is given.
func (l *list[T]) String() string {
	if l.to == nil { // pflag asks a zero value
		return ""
	}
	words := make([]string, len(*l.to))
	for i, v := range *l.to {
		words[i] = l.show(v)
	}
	return strings.Join(words, ",")
}

// Type implements [pflag.Value].
func (l *list[T]) Type() string { return "list" }

// ratesVar is a flag of learning rates.
func ratesVar(flags *pflag.FlagSet, to *[]float64, name string, def []float64, usage string) {
	*to = def
	flags.Var(&list[float64]{to: to, wants: "numbers above 0 such as 1e-3", show: shortRate, parse: func(word string) (float64, error) {
		v, err := strconv.ParseFloat(word, 64)
		if math.IsNaN(v) {
			err = strconv.ErrSyntax
		}
		return v, err
	}}, name, usage)
}

// shortRate writes a rate as people type it: 3e-4.
func shortRate(v float64) string {
	return strings.Replace(strconv.FormatFloat(v, 'e', -1, 64), "e-0", "e-", 1)
}

// wholesVar is a flag of whole numbers; such names two of them.
func wholesVar[T int | int64](flags *pflag.FlagSet, to *[]T, name string, def []T, such, usage string) {
	*to = def
	flags.Var(&list[T]{to: to, wants: "whole numbers such as " + such, show: func(v T) string { return fmt.Sprint(v) }, parse: func(word string) (T, error) {
		v, err := strconv.ParseInt(word, 10, 64)
		if int64(T(v)) != v {
			err = strconv.ErrRange
		}
		return T(v), err
	}}, name, usage)
}

// listUsage turns an entry of a list that is none into a message that names the flag and what it wants, in place of the parser's.
func listUsage(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	var entry listError
	if errors.As(err, &bad) && errors.As(err, &entry) {
		return wrongUsage(cmd, "--%s %w", bad.GetFlag().Name, entry)
	}
	return flagMistake(cmd, err)
}
