package reservectl

import (
	"cmp"
	"errors"
	"io"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
)

// lineReader returns a function that reads a file with one item on each line. read makes the item from the
// fields of its line. names are the columns that can have the reference.
func lineReader[T proto.Message](in *records, names []string, read func(f *lineFields) T) func() (item[T], error) {
	return func() (item[T], error) {
		r, err := in.next()
		if errors.Is(err, io.EOF) {
			return item[T]{}, err
		}
		f, broken := fieldsOf(r)
		it := item[T]{lines: []record{r}, reference: f.text(names...)}
		if err := cmp.Or(err, broken); err != nil {
			return it, err
		}
		it.value = read(f)
		return it, f.refused
	}
}

// refusedBy returns the refusal of a line, if err means that the service refuses the line. It returns
// all other errors, which end the import.
func refusedBy(err error) (*refusal, error) {
	var known refusal
	if errors.As(err, &known) {
		return &known, nil
	}
	f := fault.From(err)
	if f == nil {
		return nil, nil
	}
	switch f.Kind {
	case fault.Invalid, fault.NotFound, fault.Refused, fault.TooLarge:
	default:
		return nil, err
	}
	if len(f.Fields) > 0 {
		return &refusal{f.Fields[0].Field, f.Fields[0].Rule, f.Fields[0].Message}, nil
	}
	return &refusal{"line", f.Reason, f.Message}, nil
}

// itemByItem returns an exchange that stores one item after the other. store returns a refusal, or an
// error that ends the import.
func itemByItem[T proto.Message](store func(T) (outcome, error)) exchange[T] {
	return unaryExchange(1, func(batch []T) ([]outcome, error) {
		done, err := store(batch[0])
		refused, err := refusedBy(err)
		if err != nil {
			return nil, err
		}
		if refused != nil {
			done = outcome{refused: refused}
		}
		return []outcome{done}, nil
	})
}
