package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// The ports, as offsets from PORT_BASE. The gaps belong to the faces and
// services that have a fixed place in the order.
const (
	portA        = 0 // Interface A
	portB        = 1 // Interface B
	portAuth     = 3 // gRPC, as the next four
	portCustomer = 4
	portBooking  = 5
	portPass     = 6
	portWebhook  = 7
	portPostgres = 8
	portAdmin    = 9 // /livez, /readyz, /metrics
	lastPort     = portAdmin
)

// addr returns the address of a port. What the operators' port tells is nobody
// else's, so that it is opened on this machine alone.
func (s *Settings) addr(offset int) string {
	host := s.Host
	if offset == portAdmin {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(s.PortBase+offset))
}

// checkPorts says which ports cannot be opened, before anything is started for
// which they are needed. That of PostgreSQL may be that of a predecessor which is
// still shutting down, and pgserver knows to wait for it.
func (s *Settings) checkPorts() error {
	var faults []error
	for _, port := range []struct {
		offset int
		use    string
	}{
		{portA, "Interface A"}, {portB, "Interface B"}, {portAuth, "gRPC of auth"}, {portCustomer, "gRPC of customer"}, {portBooking, "gRPC of booking"},
		{portPass, "gRPC of pass"}, {portWebhook, "gRPC of webhook"}, {portAdmin, "/metrics"},
	} {
		l, err := net.Listen("tcp", s.addr(port.offset))
		if err == nil {
			err = l.Close()
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			err = errors.New("is taken by another program")
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
