package ydbconn

import (
	"fmt"
	"log/slog"

	ydb "github.com/ydb-platform/ydb-go-sdk/v3"
	"github.com/ydb-platform/ydb-go-sdk/v3/credentials"
	yc "github.com/ydb-platform/ydb-go-yc"
)

// CredentialsKind is a way to prove who we are.
type CredentialsKind string

// The kinds of credentials, in the order in which the environment is asked.
const (
	ServiceAccountKeyFile CredentialsKind = "service account key file"
	AccessToken           CredentialsKind = "access token"
	Static                CredentialsKind = "user and password"
	Metadata              CredentialsKind = "metadata service"
	Anonymous             CredentialsKind = "anonymous"
)

// Credentials are one kind of credentials with what it needs. The zero value is
// anonymous. Printed or logged, it shows its kind only.
type Credentials struct {
	Kind   CredentialsKind
	User   string // of Static
	Secret string // password, token
	File   string // of ServiceAccountKeyFile
	// Endpoint of the auth service, of Static. Empty: the database's own.
	Endpoint string
}

// String returns the kind.
func (c Credentials) String() string {
	if c.Kind == "" {
		return string(Anonymous)
	}
	return string(c.Kind)
}

// GoString returns the kind.
func (c Credentials) GoString() string { return c.String() }

// LogValue returns the kind.
func (c Credentials) LogValue() slog.Value { return slog.StringValue(c.String()) }

// credentialsFromEnv takes the first kind that the environment sets up.
func credentialsFromEnv(getenv func(string) string) Credentials {
	if file := getenv("YDB_SERVICE_ACCOUNT_KEY_FILE_CREDENTIALS"); file != "" {
		return Credentials{Kind: ServiceAccountKeyFile, File: file}
	}
	if token := getenv("YDB_ACCESS_TOKEN_CREDENTIALS"); token != "" {
		return Credentials{Kind: AccessToken, Secret: token}
	}
	if user := getenv("YDB_STATIC_CREDENTIALS_USER"); user != "" {
		return Credentials{
			Kind:     Static,
			User:     user,
			Secret:   getenv("YDB_STATIC_CREDENTIALS_PASSWORD"),
			Endpoint: getenv("YDB_STATIC_CREDENTIALS_ENDPOINT"),
		}
	}
	if getenv("YDB_METADATA_CREDENTIALS") == "1" {
		return Credentials{Kind: Metadata}
	}
	return Credentials{Kind: Anonymous}
}

// options returns the SDK options of the credentials.
func (c Credentials) options() ([]ydb.Option, error) {
	switch c.Kind {
	case "", Anonymous:
		return []ydb.Option{ydb.WithAnonymousCredentials()}, nil
	case AccessToken:
		return []ydb.Option{ydb.WithAccessTokenCredentials(c.Secret)}, nil
	case Static:
		if c.Endpoint == "" {
			return []ydb.Option{ydb.WithStaticCredentials(c.User, c.Secret)}, nil
		}
		return []ydb.Option{ydb.WithCredentials(credentials.NewStaticCredentials(c.User, c.Secret, c.Endpoint))}, nil
	case Metadata:
		return []ydb.Option{yc.WithInternalCA(), yc.WithMetadataCredentials()}, nil
	case ServiceAccountKeyFile:
		return []ydb.Option{yc.WithInternalCA(), yc.WithServiceAccountKeyFileCredentials(c.File)}, nil
	}
	return nil, fmt.Errorf("ydbconn: credentials of kind %q: unknown", string(c.Kind))
}
