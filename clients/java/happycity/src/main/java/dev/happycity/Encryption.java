package dev.happycity;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannelRegistry.ProviderNotFoundException;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.nio.file.Path;

/** Whether and how a connection is encrypted. The files may be null. */
record Encryption(boolean tls, Path ca, Path cert, Path key) {
  boolean isWanted() {
    return tls || ca != null || cert != null || key != null;
  }

  /** Reads the files. */
  ChannelCredentials credentials() {
    if (!isWanted()) {
      return InsecureChannelCredentials.create();
    }
    TlsChannelCredentials.Builder credentials = TlsChannelCredentials.newBuilder();
    if (ca != null) {
      trust(credentials);
    }
    if (cert != null || key != null) {
      identify(credentials);
    }
    return credentials.build();
  }

  private void trust(TlsChannelCredentials.Builder credentials) {
    try {
      credentials.trustManager(ca.toFile());
    } catch (IOException e) {
      throw new SettingException("ca", "it can't be read: " + e.getMessage(), e);
    }
    check(credentials, "ca", "\"%s\" holds no certificates in PEM".formatted(ca));
  }

  private void identify(TlsChannelCredentials.Builder credentials) {
    if (cert == null) {
      throw new SettingException("cert", "it is missing; the key needs it too");
    }
    if (key == null) {
      throw new SettingException("key", "it is missing; the certificate needs it too");
    }
    try {
      credentials.keyManager(cert.toFile(), key.toFile());
    } catch (IOException e) {
      throw new SettingException("cert", "it or its key can't be read: " + e.getMessage(), e);
    }
    check(
        credentials,
        "cert",
        "\"%s\" and \"%s\" are no certificate and its key (PKCS #8) in PEM".formatted(cert, key));
  }

  /** Has gRPC check the files' content, which it does only for a channel. */
  private static void check(
      TlsChannelCredentials.Builder credentials, String setting, String text) {
    try {
      Grpc.newChannelBuilder(Settings.DEFAULT_SERVER, credentials.build());
    } catch (IllegalArgumentException | ProviderNotFoundException e) {
      throw new SettingException(setting, text, e);
    }
  }
}
