package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/taskfleet/taskfleet/pkg/task"
)

// maxLine bounds a line: a payload of which every byte is escaped, its headers
// likewise, and the rest.
const maxLine = 6*(task.MaxPayload+task.MaxHeaders) + 64<<10

// errLineTooLong is returned for a line that was skipped for its length.
var errLineTooLong = fmt.Errorf("the line is too long: must have at most %d bytes", maxLine)

// lineReader cuts a stream into lines and holds at most one in memory.
type lineReader struct {
	in     *bufio.Reader
	buffer []byte
	number int
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10)}
}

// next returns the next line and its number, from 1. The line is valid until the
// next call. errLineTooLong says that this line was skipped; any other error,
// io.EOF at the end, says that there is no further one.
func (r *lineReader) next() (line []byte, number int, err error) {
	r.buffer = r.buffer[:0]
	tooLong := false
	for {
		part, err := r.in.ReadSlice('\n')
		if len(r.buffer)+len(part) > maxLine {
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
			return nil, r.number, errLineTooLong
		}
		line = bytes.TrimRight(r.buffer, "\r\n")
		if r.number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		return line, r.number, nil
	}
}
