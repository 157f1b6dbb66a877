package reservectl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"reservation.dev/platform/id"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/services/reservectl/move"
)

// moveOptions are the flags of company move.
type moveOptions struct {
	cells, from, to string
	freeze          time.Duration
	abort, finish   bool
}

// The bounds of --freeze.
const (
	leastFreeze   = time.Second
	mostFreeze    = 10 * time.Minute
	defaultFreeze = 30 * time.Second
	// verifyWait is how long a verification waits for events to be handled.
	verifyWait = time.Minute
)

func (a *app) companyMove() *cobra.Command {
	var o moveOptions
	c := &cobra.Command{
		Use: "move", Short: "Move a company to another installation while it is used", Args: exactly(),
		Long: `Move a company, with its test data, from one installation (cell) to another.

The command copies the company while it is used. Then the source refuses its
requests for seconds with COMPANY_MOVING, which clients repeat. The command
compares every row on both sides before the target opens.

You can stop the command at any time and run it again: it continues. Until the
target opens, --abort undoes everything. If the company is not quiet within
--freeze, the source opens again, and the command says what was late.

--finish deletes the company's rows in the source, after the move.

The file of cells has, for each cell, the URLs of the databases with a superuser
and what reservectl needs otherwise. "env:NAME" stands for a variable:

  {"cells": {"eu1": {
    "databases": {"auth": "env:EU1_AUTH", "booking": "postgres://…/booking", …},
    "nats": {"url": "nats://10.0.0.5:4222"},
    "credentials": "/etc/reservation/eu1.json",
    "bucket": "s3://eu1-media?region=eu-west-1"
  }, "eu2": {…}}}

docs/COMPANY_MOVE.md lists what both cells need.`,
		Example: `  reservectl company move --company comp_… --cells cells.json --from eu1 --to eu2
  reservectl company move --company comp_… --cells cells.json --from eu1 --to eu2 --abort
  reservectl company move --company comp_… --cells cells.json --from eu1 --to eu2 --finish`,
		RunE: func(c *cobra.Command, _ []string) error { return a.moveCompany(c.Context(), o) },
	}
	c.Flags().StringVar(&o.cells, "cells", os.Getenv("RESERVATION_CELLS"), "file that describes the cells (default: RESERVATION_CELLS)")
	c.Flags().Lookup("cells").DefValue = ""
	c.Flags().StringVar(&o.from, "from", "", "name of the cell that has the company")
	c.Flags().StringVar(&o.to, "to", "", "name of the cell that gets the company")
	c.Flags().DurationVar(&o.freeze, "freeze", defaultFreeze, "longest time for which requests are refused before the source opens again: 1s to 10m")
	c.Flags().BoolVar(&o.abort, "abort", false, "undo a move that has not switched")
	c.Flags().BoolVar(&o.finish, "finish", false, "delete the company's rows in the source after a move")
	return required(c, "from", "to")
}

func (a *app) moveCompany(ctx context.Context, o moveOptions) error {
	m, err := a.mover(o)
	if err != nil {
		return err
	}
	switch {
	case o.abort:
		if err := m.Abort(ctx); err != nil {
			return err
		}
		return a.printOne(row{{"company_id", m.Company.String()}, {"cell", o.from}, {"state", "aborted"}})
	case o.finish:
		f, err := m.Finish(ctx)
		if err != nil {
			return err
		}
		r := row{{"company_id", m.Company.String()}, {"cell", o.to}, {"state", "finished"}, {"rows_deleted", f.Rows}, {"mark_until", nil}}
		if !f.MarkUntil.IsZero() {
			r[len(r)-1].value = f.MarkUntil.UTC().Format(time.RFC3339)
			fmt.Fprintf(a.errOut, "%s refuses tokens of the company until the last has expired; repeat the command after %s to end this\n",
				o.from, f.MarkUntil.UTC().Format(time.RFC3339))
		}
		return a.printOne(r)
	}
	done, err := m.Run(ctx)
	if err != nil {
		return err
	}
	return a.printOne(row{
		{"company_id", m.Company.String()}, {"cell", o.to}, {"state", "moved"}, {"rows", done.Rows},
		{"frozen_ms", done.Frozen.Milliseconds()},
	})
}

// mover reads the options.
func (a *app) mover(o moveOptions) (*move.Mover, error) {
	switch {
	case o.abort && o.finish:
		return nil, usageError{errors.New("--abort and --finish exclude each other")}
	case o.cells == "":
		return nil, usageError{errors.New("--cells is required, or RESERVATION_CELLS")}
	case o.freeze < leastFreeze || o.freeze > mostFreeze:
		return nil, usageError{errors.New("--freeze must be 1s to 10m")}
	case a.access.CompanyID == "":
		return nil, usageError{errors.New("--company is required (comp_…)")}
	}
	company, err := id.Parse[id.Company](a.access.CompanyID)
	if err != nil {
		return nil, usageError{fmt.Errorf("--company must be the identifier of a company (comp_…), not %q", a.access.CompanyID)}
	}
	cells, err := move.ReadCells(o.cells, os.Getenv)
	if err != nil {
		return nil, usageError{err}
	}
	from, err := cells.Find(o.from)
	if err != nil {
		return nil, usageError{fmt.Errorf("--from: %w", err)}
	}
	to, err := cells.Find(o.to)
	if err != nil {
		return nil, usageError{fmt.Errorf("--to: %w", err)}
	}
	return &move.Mover{
		From: from, To: to, Company: company, Freeze: o.freeze, Directory: instructions{a.errOut}, Verify: a.verifyIn, Keys: a.masterKeysIn,
		Progress: a.errOut,
	}, nil
}

// verifyIn verifies a company in a cell. It prints differences with the progress.
func (a *app) verifyIn(ctx context.Context, cell *move.Cell, company id.Company) error {
	in := &app{in: a.in, out: a.errOut, errOut: a.errOut, output: a.output}
	in.access.file, in.access.tls, in.access.CompanyID = cell.Credentials, a.access.tls, company.String()
	return in.withStores(ctx, func(s stores) error { return in.verify(s, verifyWait) })
}

// masterKeysIn returns the identifiers of the master keys of a cell.
func (a *app) masterKeysIn(ctx context.Context, cell *move.Cell) ([][]byte, error) {
	in := &app{in: a.in, out: a.errOut, errOut: a.errOut, output: a.output}
	in.access.file, in.access.tls = cell.Credentials, a.access.tls
	auth, err := in.platform(ctx)
	if err != nil {
		return nil, err
	}
	defer auth.close()
	res, err := authv1.NewDirectoryServiceClient(auth.conn).ListMasterKeys(auth.ctx, &authv1.ListMasterKeysRequest{})
	return res.GetKeyIds(), err
}

// instructions is the directory of an installation without one: it tells the operator what to change.
type instructions struct{ to io.Writer }

// Moving implements move.Directory.
func (i instructions) Moving(context.Context, id.Company, string, string) error { return nil }

// Moved implements move.Directory.
func (i instructions) Moved(_ context.Context, company id.Company, cell string) error {
	_, err := fmt.Fprintf(i.to, "a router other than that of deploy/router must send %s to %s now\n", company, cell)
	return err
}
