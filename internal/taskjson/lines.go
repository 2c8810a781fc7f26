package taskjson

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// MaxLine bounds a line: a payload of which every byte is escaped, its headers
// likewise, and the rest.
const MaxLine = 6*(task.MaxPayload+task.MaxHeaders) + 64<<10

// ErrLineTooLong is returned for a line that was skipped for its length.
var ErrLineTooLong = fmt.Errorf("the line is too long: must have at most %d bytes", MaxLine)

// LineReader cuts a stream into lines and holds at most one in memory.
type LineReader struct {
	in     *bufio.Reader
	buffer []byte
	number int
}

// NewLineReader returns a reader of the lines of in.
func NewLineReader(in io.Reader) *LineReader {
	return &LineReader{in: bufio.NewReaderSize(in, 64<<10)}
}

// Next returns the next line and its number, from 1. The line is valid until the
// next call. ErrLineTooLong says that this line was skipped; any other error,
// io.EOF at the end, says that there is no further one.
func (r *LineReader) Next() (line []byte, number int, err error) {
	r.buffer = r.buffer[:0]
	tooLong := false
	for {
		part, err := r.in.ReadSlice('\n')
		if len(r.buffer)+len(part) > MaxLine {
			tooLong = true
		} else {
			r.buffer = append(r.buffer, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (!errors.Is(err, io.EOF) || len(r.buffer) == 0 && !tooLong) {
			return nil, r.number, err
		}
		r.number++
		if tooLong {
			return nil, r.number, ErrLineTooLong
		}
		line = bytes.TrimRight(r.buffer, "\r\n")
		if r.number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		return line, r.number, nil
	}
}
