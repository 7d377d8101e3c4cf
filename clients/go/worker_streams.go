package happycity

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"
)

// The server ends the search for its workers: when it is lost for good, their streams end too.
const forever time.Duration = math.MaxInt64

// A playFunc plays on one server until the session there ends for good.
type playFunc func(ctx context.Context, settings *Settings) error

// workerStreams keeps a stream to each worker that the server's last welcome named, with a session of its own.
//
// A stream that can't be opened is no reason to leave the server: the games are played there then.
type workerStreams struct {
	ctx      context.Context
	stop     context.CancelFunc // ends all streams
	settings *Settings          // of the stream to the server
	play     playFunc
	streams  map[string]*workerStream // by address
	running  sync.WaitGroup
}

// A workerStream is the stream to one worker.
type workerStream struct {
	stop  context.CancelFunc
	ended chan struct{} // closed when it has ended for good
}

func newWorkerStreams(ctx context.Context, settings *Settings, play playFunc) *workerStreams {
	ctx, stop := context.WithCancel(ctx)
	return &workerStreams{ctx: ctx, stop: stop, settings: settings, play: play, streams: map[string]*workerStream{}}
}

// follow opens streams to the workers at these addresses, and ends those to others.
//
// A bot with a maximum number of games opens none, as it holds for all streams together.
func (w *workerStreams) follow(addresses []string) {
	older := w.streams
	w.streams = map[string]*workerStream{}
	if w.settings.Games == Unlimited {
		for _, address := range addresses {
			if stream := older[address]; stream != nil && !stream.hasEnded() {
				w.streams[address] = stream
			} else if w.streams[address] == nil {
				w.streams[address] = w.open(address)
			}
		}
	}
	for address, stream := range older {
		if w.streams[address] != stream {
			stream.stop()
		}
	}
}

// close ends all streams, and returns when they have ended.
func (w *workerStreams) close() {
	w.stop()
	w.running.Wait()
}

func (w *workerStreams) open(address string) *workerStream {
	ctx, stop := context.WithCancel(w.ctx)
	stream := &workerStream{stop: stop, ended: make(chan struct{})}
	settings := *w.settings
	settings.Server, settings.Wait, settings.Reconnect = address, forever, forever
	w.running.Go(func() {
		defer close(stream.ended)
		if err := w.play(ctx, &settings); err != nil {
			w.settings.Logger.Warn(fmt.Sprintf("no games at the worker %s: %v", address, err), "bot", settings.Name)
		}
	})
	return stream
}

func (s *workerStream) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}
