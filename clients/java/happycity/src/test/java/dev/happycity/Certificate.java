package dev.happycity;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;

/** Files of a certificate for loopback, which is its own CA, and of its key, both in PEM. */
record Certificate(Path cert, Path key) {
  private static final String PASSWORD = "changeit";
  private static final String NAME = "test";

  /** Has Java's keytool make a certificate, and takes it out of its store. */
  static Certificate make(Path folder)
      throws IOException, GeneralSecurityException, InterruptedException {
    Path file = folder.resolve("store.p12");
    keytool(
        "-genkeypair",
        "-keystore",
        file.toString(),
        "-storepass",
        PASSWORD,
        "-alias",
        NAME,
        "-keyalg",
        "EC",
        "-dname",
        "CN=test",
        "-ext",
        "san=ip:127.0.0.1",
        "-ext",
        "bc=ca:true");
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream stream = Files.newInputStream(file)) {
      store.load(stream, PASSWORD.toCharArray());
    }
    return new Certificate(
        pem(folder, "CERTIFICATE", store.getCertificate(NAME).getEncoded()),
        pem(folder, "PRIVATE KEY", store.getKey(NAME, PASSWORD.toCharArray()).getEncoded()));
  }

  private static void keytool(String... arguments) throws IOException, InterruptedException {
    ProcessBuilder keytool =
        new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    keytool.command().addAll(List.of(arguments));
    Process process = keytool.redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes());
    assertEquals(0, process.waitFor(), output);
  }

  private static Path pem(Path folder, String kind, byte[] content) throws IOException {
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
    return Files.writeString(
        folder.resolve(kind.replace(' ', '-') + ".pem"),
        "-----BEGIN %1$s-----%n%2$s%n-----END %1$s-----%n".formatted(kind, body));
  }
}
