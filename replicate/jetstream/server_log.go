package jetstream

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// serverLog carries the nats-server's log into ours, and keeps the first fatal
// line: the server goes on after it, and tells nobody else.
type serverLog struct {
	log *slog.Logger

	mu    sync.Mutex
	fatal string
}

// failure returns the first fatal line, "" while there is none.
func (l *serverLog) failure() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

func (l *serverLog) write(level slog.Level, format string, args []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, fmt.Sprintf(format, args...))
	}
}

// Noticef implements server.Logger. What the server calls a notice is detail to
// an operator of the node.
func (l *serverLog) Noticef(format string, args ...any) { l.write(slog.LevelDebug, format, args) }

// Warnf implements server.Logger.
func (l *serverLog) Warnf(format string, args ...any) { l.write(slog.LevelWarn, format, args) }

// Errorf implements server.Logger.
func (l *serverLog) Errorf(format string, args ...any) { l.write(slog.LevelError, format, args) }

// Debugf implements server.Logger.
func (l *serverLog) Debugf(format string, args ...any) { l.write(slog.LevelDebug, format, args) }

// Tracef implements server.Logger.
func (l *serverLog) Tracef(string, ...any) {}

// Fatalf implements server.Logger. It does not end the process: StartServer
// returns the line as its error.
func (l *serverLog) Fatalf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		l.fatal = fmt.Sprintf(format, args...)
	}
}
