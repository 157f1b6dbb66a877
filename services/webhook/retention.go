package webhook

import (
	"context"
	"time"
)

// logKept is how long the log is kept. The function keep_partitions of the database
// has the same number.
const logKept = 30 * 24 * time.Hour

// retainEvery is how often one of the processes deletes old parts of the log.
const retainEvery = time.Hour

// retainOnce creates the partitions of the coming days, deletes what is older than the log, and
// re-encrypts secrets that a former master key encrypted.
func (e *Engine) retainOnce(ctx context.Context) error {
	if err := e.store.keepPartitions(ctx); err != nil {
		return err
	}
	if err := e.store.prune(ctx, e.now().Add(-logKept)); err != nil {
		return err
	}
	return e.store.reseal(ctx)
}
