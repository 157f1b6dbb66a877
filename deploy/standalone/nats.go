package main

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startNATS starts the embedded NATS server. It opens no port: the services reach it inside the
// process.
func startNATS(dataDir string) (*server.Server, error) {
	srv, err := server.NewServer(&server.Options{
		ServerName: "standalone",
		DontListen: true,
		JetStream:  true,
		StoreDir:   filepath.Join(dataDir, "nats"),
		// Events are deleted from the outbox once NATS has them. Syncing every second limits how
		// many are lost if the machine fails.
		SyncInterval: time.Second,
		NoSigs:       true,
		NoLog:        true,
	})
	if err != nil {
		return nil, err
	}
	srv.Start()
	if !srv.ReadyForConnections(10 * time.Second) {
		srv.Shutdown()
		return nil, errors.New("the embedded NATS server did not start")
	}
	return srv, nil
}
