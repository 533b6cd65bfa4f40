package hlc_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"driftless.dev/fuzztest"
	"driftless.dev/hlc"
	"pgregory.net/rapid"
)

const lastMilli = 1<<48 - 1

func anyStamp() *rapid.Generator[hlc.Timestamp] {
	return rapid.Custom(func(t *rapid.T) hlc.Timestamp {
		ms := rapid.Int64Range(0, lastMilli).Draw(t, "ms")
		return hlc.At(ms, rapid.Uint16().Draw(t, "counter"))
	})
}

func TestAt_SaturatesInOrder(t *testing.T) {
	for _, c := range []struct {
		ms      int64
		counter uint16
		want    hlc.Timestamp
	}{
		{math.MinInt64, 9, 0},
		{-1, math.MaxUint16, 0},
		{0, 0, 0},
		{0, 1, 1},
		{1, 0, 1 << 16},
		{lastMilli, math.MaxUint16, hlc.Max},
		{lastMilli + 1, 0, hlc.Max},
		{math.MaxInt64, 0, hlc.Max},
	} {
		if got := hlc.At(c.ms, c.counter); got != c.want {
			t.Errorf("At(%d, %d) = %v, want %v", c.ms, c.counter, got, c.want)
		}
	}
}

func TestParse_AcceptsOneSpelling(t *testing.T) {
	good := map[string]hlc.Timestamp{
		"0.0":                   0,
		"0.1":                   1,
		"5.10":                  hlc.At(5, 10),
		"1700000000000.65535":   hlc.At(1700000000000, 65535),
		"281474976710655.65535": hlc.Max,
	}
	for text, want := range good {
		if got, err := hlc.Parse(text); err != nil || got != want || got.String() != text {
			t.Errorf("Parse(%q) = %v, %v", text, got, err)
		}
	}
	bad := []string{
		"", ".", "5", "5.", ".5", "05.1", "5.01", "00.0", "0.00", "+5.1", "5.+1", "-5.1", "5.-1",
		" 5.1", "5.1 ", "5 .1", "5.1.1", "5,1", "5.1\n", "0x5.1", "5_0.1", "5e3.1", "٥.1",
		"281474976710656.0", "0.65536", "99999999999999999999999999.0",
	}
	for _, text := range bad {
		if got, err := hlc.Parse(text); !errors.Is(err, hlc.ErrSyntax) || got != 0 {
			t.Errorf("Parse(%q) = %v, %v, want ErrSyntax", text, got, err)
		}
	}
}

func FuzzParse_WhatItAcceptsItWrites(f *testing.F) {
	f.Add("1700000000000.7")
	f.Add("0.00")
	cost := fuzztest.Start(f)
	f.Fuzz(func(t *testing.T, text string) {
		cost.Run(t, []byte(text), func() { _, _ = hlc.Parse(text) })
		stamp, err := hlc.Parse(text)
		if err == nil && stamp.String() != text {
			t.Fatalf("Parse(%q) = %v: a second spelling", text, stamp)
		}
	})
}

func TestText_RoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyStamp().Draw(t, "stamp")
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got hlc.Timestamp
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Fatalf("%v came back as %v, %v", want, got, err)
		}
	})
	stamp := hlc.At(5, 1)
	if err := stamp.UnmarshalText([]byte("x")); err == nil || stamp != hlc.At(5, 1) {
		t.Fatalf("a refused text left %v, %v", stamp, err)
	}
}

func TestOrder_IntegerBytesAndPartsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyStamp().Draw(t, "a"), anyStamp().Draw(t, "b")
		parts := int64Compare(a.Millis(), b.Millis())
		if parts == 0 {
			parts = int64Compare(int64(a.Counter()), int64(b.Counter()))
		}
		ab := binary.BigEndian.AppendUint64(nil, uint64(a))
		bb := binary.BigEndian.AppendUint64(nil, uint64(b))
		if got := a.Compare(b); got != parts || got != bytes.Compare(ab, bb) {
			t.Fatalf("%v.Compare(%v) = %d, by parts %d", a, b, got, parts)
		}
		if hlc.At(a.Millis(), a.Counter()) != a || a.IsZero() != (a == 0) {
			t.Fatalf("%v is not its parts", a)
		}
	})
}

func int64Compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestNext_CarriesIntoTheNextMillisecond(t *testing.T) {
	for _, c := range []struct{ from, want hlc.Timestamp }{
		{0, hlc.At(0, 1)},
		{hlc.At(7, 3), hlc.At(7, 4)},
		{hlc.At(7, math.MaxUint16), hlc.At(8, 0)},
		{hlc.Max - 1, hlc.Max},
		{hlc.Max, hlc.Max},
	} {
		if got := c.from.Next(); got != c.want {
			t.Errorf("%v.Next() = %v, want %v", c.from, got, c.want)
		}
	}
}

func TestAdd_MillisecondsSaturating(t *testing.T) {
	at := hlc.At(1000, 7)
	for _, c := range []struct {
		from hlc.Timestamp
		add  time.Duration
		want hlc.Timestamp
	}{
		{at, 0, at},
		{at, time.Second, hlc.At(2000, 7)},
		{at, -time.Second, hlc.At(0, 7)},
		{at, -time.Second - time.Millisecond, 0},
		{at, 999 * time.Microsecond, at},
		{at, -999 * time.Microsecond, at},
		{at, math.MinInt64, 0},
		{at, math.MaxInt64, hlc.At(1000+math.MaxInt64/1_000_000, 7)},
		{hlc.Max, time.Millisecond, hlc.Max},
		{hlc.Max, math.MaxInt64, hlc.Max},
	} {
		if got := c.from.Add(c.add); got != c.want {
			t.Errorf("%v.Add(%v) = %v, want %v", c.from, c.add, got, c.want)
		}
	}
}

func TestTime_IsTheWallPartInUTC(t *testing.T) {
	want := time.Date(2024, 2, 29, 12, 0, 0, 5e6, time.UTC)
	if got := hlc.At(want.UnixMilli(), 99).Time(); got != want {
		t.Fatalf("Time() = %v, want %v", got, want)
	}
}
