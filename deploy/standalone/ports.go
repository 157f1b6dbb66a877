package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Ports are given as offsets from PORT_BASE.
const (
	portA         = 0 // Interface A
	portB         = 1 // Interface B
	portDashboard = 2
	portAuth      = 3 // gRPC, like the next four
	portCustomer  = 4
	portBooking   = 5
	portPass      = 6
	portWebhook   = 7
	portPostgres  = 8
	portAdmin     = 9 // /livez, /readyz, /metrics
	lastPort      = portAdmin
)

// addr returns the address of a port. The operators' port is always on the loopback address,
// because its data is not public.
func (s *Settings) addr(offset int) string {
	host := s.Host
	if offset == portAdmin {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(s.PortBase+offset))
}

// checkPorts reports the ports that cannot be opened, before anything is started. It leaves out
// PostgreSQL's port: the server of an earlier run may still be shutting down on it, and pgserver
// waits for that.
func (s *Settings) checkPorts() error {
	var faults []error
	for _, port := range []struct {
		offset int
		use    string
	}{
		{portA, "Interface A"}, {portB, "Interface B"}, {portDashboard, "the dashboard"}, {portAuth, "gRPC of auth"}, {portCustomer, "gRPC of customer"}, {portBooking, "gRPC of booking"},
		{portPass, "gRPC of pass"}, {portWebhook, "gRPC of webhook"}, {portAdmin, "/metrics"},
	} {
		l, err := net.Listen("tcp", s.addr(port.offset))
		if err == nil {
			err = l.Close()
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			err = errors.New("another program uses it")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("port %d (%s): %w", s.PortBase+port.offset, port.use, err))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return errors.Join(append(faults, fmt.Errorf(
		"another PORT_BASE (now %d) moves all ports; LISTEN_HOST (now %s) says on which address they are opened", s.PortBase, s.Host))...)
}
