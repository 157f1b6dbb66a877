package move

import (
	"context"
	"fmt"
	"strings"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

const (
	hasPublicationSQL = `select exists (select from pg_publication where pubname = $1)`

	hasSlotSQL = `select exists (select from pg_replication_slots where slot_name = $1)`

	keepsSlotSQL = `select exists (select from pg_replication_slots where slot_name = $1 and wal_status is distinct from 'lost')`

	hasSubscriptionSQL = `select exists (select from pg_subscription s join pg_database d on d.oid = s.subdbid
		where s.subname = $1 and d.datname = current_database())`

	createSlotSQL = `select pg_create_logical_replication_slot($1, 'pgoutput')`

	dropSlotSQL = `select pg_drop_replication_slot($1)`

	// copiedSQL counts the tables whose rows are copied and whose changes are followed.
	copiedSQL = `select count(*) filter (where r.srsubstate = 'r'), count(*) from pg_subscription_rel r
		join pg_subscription s on s.oid = r.srsubid where s.subname = $1`

	subscriptionErrorsSQL = `select coalesce(sum(apply_error_count + sync_error_count), 0)::bigint from pg_stat_subscription_stats where subname = $1`
)

// arrive begins the copy of a database, or continues it: a publication and a slot at the source, and a
// subscription at the target.
func (d *database) arrive(ctx context.Context, m *Mover) error {
	if err := mark(ctx, d.to, m.companies, pg.Arriving, m.From.Name); err != nil {
		return err
	}
	name := d.name(m.Company)
	subscribed, err := one[bool](ctx, d.to, hasSubscriptionSQL, name)
	if err != nil || subscribed {
		return err
	}
	// The rest of an earlier attempt would collide with the copy.
	if _, err := d.deleteRows(ctx, d.to, m.companies); err != nil {
		return err
	}
	published, err := one[bool](ctx, d.from, hasPublicationSQL, name)
	if err != nil {
		return err
	}
	if !published {
		if _, err := d.from.Exec(ctx, d.publicationSQL(name, m.companies)); err != nil {
			return fmt.Errorf("publication: %w", err)
		}
	}
	slot, err := one[bool](ctx, d.from, hasSlotSQL, name)
	if err != nil {
		return err
	}
	if !slot {
		// A subscription would create it too, but would wait forever if both cells are on one server.
		if _, err := d.from.Exec(ctx, createSlotSQL, name); err != nil {
			return fmt.Errorf("replication slot: %w", err)
		}
	}
	sql := fmt.Sprintf(`create subscription %s connection %s publication %[1]s with (create_slot = false, slot_name = %[1]s, copy_data = true)`,
		name, literal(d.source))
	if _, err := d.to.Exec(ctx, sql); err != nil {
		return fmt.Errorf("subscription: %w", err)
	}
	return nil
}

// publicationSQL publishes the companies' rows of every table.
func (d *database) publicationSQL(name string, companies []id.Company) string {
	published := make([]string, len(d.tables))
	for i, t := range d.tables {
		published[i] = fmt.Sprintf("table %s where (company_id in (%s))", t.quoted(), literals(companies))
	}
	return fmt.Sprintf("create publication %s for %s with (publish_via_partition_root = true)", name, strings.Join(published, ", "))
}

// copyPoll is how often the progress of the copy is read.
const copyPoll = 200 * time.Millisecond

// awaitCopy returns when every table is copied.
func (d *database) awaitCopy(ctx context.Context, m *Mover) error {
	name := d.name(m.Company)
	before, err := one[int64](ctx, d.to, subscriptionErrorsSQL, name)
	if err != nil {
		return err
	}
	for reported := int64(-1); ; {
		kept, err := one[bool](ctx, d.from, keepsSlotSQL, name)
		if err == nil && !kept {
			err = errNoSlot
		}
		if err != nil {
			return err
		}
		var copied, all int64
		if err := d.to.QueryRow(ctx, copiedSQL, name).Scan(&copied, &all); err != nil {
			return err
		}
		if copied != reported {
			m.progress("copying %s: %d of %d tables", d.service, copied, all)
			reported = copied
		}
		if copied == all {
			return nil
		}
		failures, err := one[int64](ctx, d.to, subscriptionErrorsSQL, name)
		if err != nil {
			return err
		}
		if failures > before {
			m.progress("copying %s: PostgreSQL reports an error and tries again; see the log of the target's server", d.service)
			before = failures
		}
		if err := pause(ctx, copyPoll); err != nil {
			return err
		}
	}
}

// stopCopy removes the subscription, the slot and the publication. Each may be missing.
func (d *database) stopCopy(ctx context.Context, company id.Company) error {
	name := d.name(company)
	subscribed, err := one[bool](ctx, d.to, hasSubscriptionSQL, name)
	if err != nil {
		return err
	}
	slot, err := one[bool](ctx, d.from, hasSlotSQL, name)
	if err != nil {
		return err
	}
	if subscribed {
		// It drops the slots at the source, also those of tables that are being copied. It fails if the slot is gone,
		// for example after a failover.
		statements := []string{`drop subscription ` + name}
		if !slot {
			statements = []string{`alter subscription ` + name + ` disable`, `alter subscription ` + name + ` set (slot_name = none)`, statements[0]}
		}
		for _, sql := range statements {
			if _, err := d.to.Exec(ctx, sql); err != nil {
				return fmt.Errorf("subscription: %w", err)
			}
		}
		if slot, err = one[bool](ctx, d.from, hasSlotSQL, name); err != nil {
			return err
		}
	}
	if slot {
		if _, err := d.from.Exec(ctx, dropSlotSQL, name); err != nil {
			return fmt.Errorf("replication slot: %w", err)
		}
	}
	_, err = d.from.Exec(ctx, `drop publication if exists `+name)
	return err
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
