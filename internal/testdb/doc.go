// Package testdb gives each test a database of its own, empty, for the length of
// the test. Every test that touches a database takes it from here:
//
//   - Open, for what must hold on any YDB: a new folder of the database that
//     TASKFLEET_TEST_YDB names by its connection string, or of an embedded server.
//     Test is the same for tests that wait: on the embedded server no time passes;
//   - Start, for what needs the embedded server: its faults, its restart, its
//     network, or the virtual clock of testing/synctest. These tests run on it
//     always, as they are about what cannot be done to a real one.
//
// An embedded server costs a few milliseconds, so tests share none.
package testdb
