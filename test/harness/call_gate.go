package harness

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
)

// CallGate is a TCP proxy between a gRPC client and its server that can hold back a call until
// after the client has ended. The connections must not use TLS.
type CallGate struct {
	target   string
	listener net.Listener

	mu   sync.Mutex
	held *HeldCall // the next call is held; nil: every call passes
}

// HeldCall is a call that a gate holds back.
type HeldCall struct {
	arrived  chan struct{} // closed when the gate has the whole request
	released chan struct{}
	answered chan struct{} // closed when the server has answered, or broken the connection
}

// NewCallGate returns a gate in front of a server's address. It ends with the test.
func NewCallGate(t testing.TB, target string) *CallGate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &CallGate{target: target, listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go g.serve(conn)
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return g
}

// Addr returns the address for the client.
func (g *CallGate) Addr() string { return g.listener.Addr().String() }

// Hold holds back the next call.
func (g *CallGate) Hold() *HeldCall {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = &HeldCall{arrived: make(chan struct{}), released: make(chan struct{}), answered: make(chan struct{})}
	return g.held
}

// Arrived is closed when the gate has the whole request.
func (h *HeldCall) Arrived() <-chan struct{} { return h.arrived }

// Release forwards the request. It returns a channel that is closed when the server has answered.
func (h *HeldCall) Release() (answered <-chan struct{}) {
	close(h.released)
	return h.answered
}

// take returns the call to hold, once.
func (g *CallGate) take() *HeldCall {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := g.held
	g.held = nil
	return held
}

// HTTP/2 frames, as far as the gate needs them.
const (
	preface    = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	headers    = 1
	endsStream = 1 // flag of a headers or data frame
)

func (g *CallGate) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", g.target)
	if err != nil {
		return
	}
	defer server.Close()
	held := make(chan *HeldCall, 1)
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		defer client.Close()
		forwardAnswers(client, server, held)
	}()
	if _, err := io.CopyN(server, client, int64(len(preface))); err != nil {
		return
	}
	var call *HeldCall
	var request bytes.Buffer
	for {
		kind, flags, frame, err := readFrame(client)
		if err != nil {
			return
		}
		if kind == headers && call == nil {
			call = g.take()
		}
		if call == nil {
			if _, err := server.Write(frame); err != nil {
				return
			}
			continue
		}
		request.Write(frame)
		if kind > headers || flags&endsStream == 0 { // data frames have kind 0
			continue
		}
		close(call.arrived)
		<-call.released
		held <- call
		_, _ = server.Write(request.Bytes())
		<-answers
		close(call.answered)
		return
	}
}

// forwardAnswers forwards the server's frames, until the server has answered a held call.
func forwardAnswers(client, server net.Conn, held <-chan *HeldCall) {
	answering := false
	for {
		kind, flags, frame, err := readFrame(server)
		select {
		case <-held:
			answering = true
		default:
		}
		if err != nil || answering && kind == headers && flags&endsStream != 0 {
			return
		}
		_, _ = client.Write(frame) // the client may have ended
	}
}

// readFrame reads one frame, whole.
func readFrame(from io.Reader) (kind, flags byte, frame []byte, err error) {
	frame = make([]byte, 9)
	if _, err := io.ReadFull(from, frame); err != nil {
		return 0, 0, nil, err
	}
	length := binary.BigEndian.Uint32(append([]byte{0}, frame[:3]...))
	payload := make([]byte, length)
	if _, err := io.ReadFull(from, payload); err != nil {
		return 0, 0, nil, err
	}
	return frame[3], frame[4], append(frame, payload...), nil
}
