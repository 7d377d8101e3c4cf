package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.grpc.TlsServerCredentials;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TlsTest {
  private static final BotFactory FIRST = BotFactory.stateless(decision -> 0);

  private static Certificate certificate;

  @BeforeAll
  static void make(@TempDir Path folder) throws Exception {
    certificate = Certificate.make(folder);
  }

  /** A bot plays by TLS, with a CA of its own, a certificate of its own, and a token. */
  @Test
  void trusted() throws Exception {
    TlsServerCredentials.Builder credentials =
        TlsServerCredentials.newBuilder()
            .keyManager(certificate.cert().toFile(), certificate.key().toFile())
            .trustManager(certificate.cert().toFile())
            .clientAuth(TlsServerCredentials.ClientAuth.REQUIRE);
    try (Peer peer = new Peer(credentials.build())) {
      Settings.Builder settings = peer.settings().ca(certificate.cert()).token("secret");
      peer.play(FIRST, settings.cert(certificate.cert()).key(certificate.key()));
      assertEquals("Bearer secret", peer.accept().authorization);
    }
  }

  /** A server whose certificate is not of a trusted CA is not played on. */
  @Test
  void untrusted() throws Exception {
    TlsServerCredentials.Builder credentials =
        TlsServerCredentials.newBuilder()
            .keyManager(certificate.cert().toFile(), certificate.key().toFile());
    try (Peer peer = new Peer(credentials.build())) {
      Playing bot = peer.play(FIRST, peer.settings().tls(true));
      assertInstanceOf(ConnectionException.class, bot.end().orElseThrow());
    }
  }
}
