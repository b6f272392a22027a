// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// KubeconfigName is what every kubeconfig of the lab calls its cluster, user
// and context.
const KubeconfigName = "berth-lab"

// tokenLifetime is requested for service account tokens; the lab never renews
// one.
const tokenLifetime = 24 * time.Hour

// connect fills in the administrator's credentials for the server at url.
func (c *Cluster) connect(url string) error {
	c.Kubeconfig = filepath.Join(c.dir, "admin.kubeconfig")
	if err := c.writeClientCert(c.Kubeconfig, url, "berth-lab-admin", "system:masters"); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit
	c.Config = config
	c.Client, err = kubernetes.NewForConfig(config)
	return err
}

// UserKubeconfig writes a kubeconfig for a user of the given name and groups,
// authenticated by a client certificate, and returns its path. The user has the
// rights that RBAC gives to that name and those groups.
func (c *Cluster) UserKubeconfig(user string, groups ...string) (string, error) {
	file := filepath.Join(c.dir, "user-"+fileName(user)+".kubeconfig")
	return file, c.writeClientCert(file, c.Config.Host, user, groups...)
}

// ServiceAccountKubeconfig requests a token for an existing service account,
// writes a kubeconfig that uses it and returns its path. The token is bound to
// the account, not to a pod, and valid for a day.
func (c *Cluster) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	seconds := int64(tokenLifetime / time.Second)
	token, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token for service account %s/%s: %w", namespace, name, err)
	}
	file := filepath.Join(c.dir, "sa-"+fileName(namespace+"-"+name)+".kubeconfig")
	return file, c.writeKubeconfig(file, c.Config.Host, &clientcmdapi.AuthInfo{Token: token.Status.Token})
}

func (c *Cluster) writeClientCert(file, url, user string, groups ...string) error {
	cert, key, err := c.ca.issueClient(user, groups...)
	if err != nil {
		return err
	}
	return c.writeKubeconfig(file, url, &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key})
}

func (c *Cluster) writeKubeconfig(file, url string, auth *clientcmdapi.AuthInfo) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[KubeconfigName] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: c.ca.certPEM}
	config.AuthInfos[KubeconfigName] = auth
	config.Contexts[KubeconfigName] = &clientcmdapi.Context{Cluster: KubeconfigName, AuthInfo: KubeconfigName}
	config.CurrentContext = KubeconfigName
	return clientcmd.WriteToFile(*config, file) // mode 0600
}

// fileName replaces what a user's name may contain and a file's may not.
func fileName(s string) string {
	return strings.NewReplacer("/", "-", ":", "-", string(filepath.Separator), "-").Replace(s)
}
