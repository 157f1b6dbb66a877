package directory

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"reservation.dev/platform/config"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/service"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// Part describes the directory to the process that runs it. It is not part of a cell.
func Part() service.Part {
	return service.Part{
		Name:     "directory",
		About:    "tells the router in front of several cells where each company is",
		Settings: func() any { return &Config{} },
		Run:      Run,
	}
}

// load gives the table the lines of the map files. A map whose file is missing or empty is read from HAProxy, so that
// the lines of a cell that cannot be read are not lost with the files. // invariant 4
func load(ctx context.Context, t *table, router *haproxy, log *slog.Logger) error {
	lines := map[mapName]map[string]string{}
	for _, m := range []mapName{companiesMap, credentialsMap} {
		var err error
		if lines[m], err = router.files.read(m); err != nil {
			return err
		}
		if len(lines[m]) > 0 {
			continue
		}
		if lines[m], err = router.read(ctx, m); err != nil {
			return err
		}
		log.Info("the file of a map is missing or empty; read the lines from HAProxy", "map", m, "lines", len(lines[m]))
	}
	t.load(lines[companiesMap], lines[credentialsMap])
	return nil
}

// Run keeps the router's maps until ctx ends.
func Run(ctx context.Context, h *service.Host) error {
	var cfg Config
	if err := config.Read(h.Env, &cfg); err != nil {
		return err
	}
	cells, err := parseCells(cfg.Cells)
	if err != nil {
		return err
	}
	names := make([]string, len(cells))
	for i, c := range cells {
		names[i] = c.Name
	}
	maps, t, m := files{dir: cfg.Maps}, newTable(names, h.Log), newMetrics()
	router := &haproxy{socket: cfg.Socket, files: maps, now: time.Now}
	if err := load(ctx, t, router, h.Log); err != nil {
		return err
	}
	if err := m.collect(h.Metrics, t); err != nil {
		return err
	}

	g := service.NewGroup(ctx, h.Log)
	var first sync.WaitGroup
	for _, c := range cells {
		conn, err := h.Dial("auth", c.AuthAddr, rpc.DialOptions{})
		if err != nil {
			return err
		}
		defer conn.Close()
		f := &follower{
			cell: c.Name, client: authv1.NewDirectoryServiceClient(conn), table: t, metrics: m, log: h.Log, now: time.Now,
			source: service.Credential{ID: c.ID, Secret: config.Secret(c.Secret)}.Source(conn), every: cfg.Every, everyFull: cfg.EveryFull,
		}
		first.Add(1)
		g.Go("cell "+c.Name, func(ctx context.Context) error { return f.run(ctx, sync.OnceFunc(first.Done)) })
	}
	tried := make(chan struct{})
	go func() {
		first.Wait() // each follower tries at least once
		close(tried)
	}()
	p := &publisher{
		table: t, files: maps, metrics: m, log: h.Log, written: map[mapName]time.Time{},
		haproxy: router,
	}
	g.Go("publisher", func(ctx context.Context) error { return p.run(ctx, tried) })
	g.Go("health", func(ctx context.Context) error {
		h.Health.Announce(ctx, h.Part, func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tried:
				return nil
			}
		})
		return nil
	})
	return g.Wait()
}
