package page

import "context"

// Keyset is a table that is streamed in the order of its keys. T is a row and K its key.
type Keyset[K, T any] struct {
	// Size is the number of rows that Read returns, unless there are no more.
	Size int
	// Read reads the rows after a key, each time in a transaction of its own.
	Read func(ctx context.Context, after K) ([]T, error)
	Key  func(*T) K
	Send func([]T) error
}

// Stream sends all rows after a key. While a receiver is slow, Stream holds one page and no connection. A row
// that exists from the beginning to the end is sent once, because keys do not change.
func (k Keyset[K, T]) Stream(ctx context.Context, after K) error {
	for {
		rows, err := k.Read(ctx, after)
		if err != nil || len(rows) == 0 {
			return err
		}
		after = k.Key(&rows[len(rows)-1])
		if err := k.Send(rows); err != nil || len(rows) < k.Size {
			return err
		}
	}
}
