package webhook

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSignatureOfTheSpecification holds the signature to the example that the
// specification of Standard Webhooks publishes.
func TestSignatureOfTheSpecification(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	require.NoError(t, Sign(h, []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, "msg_p5jXN8AQM9LWM0D4loKWxJek",
		time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)))
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", h.Get("webhook-signature"))
	require.Equal(t, "1614265330", h.Get("webhook-timestamp"))
	require.Equal(t, "msg_p5jXN8AQM9LWM0D4loKWxJek", h.Get("webhook-id"))
}

func TestASecretThatIsNoBase64(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	err := Sign(h, []string{"plain", "whsec_!hush!"}, "id", time.Unix(0, 0), nil)
	require.ErrorContains(t, err, "base64")
	require.NotContains(t, err.Error(), "hush")
	require.Empty(t, h)
}
