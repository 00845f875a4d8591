{
  description = "A laboratory for computers that have slowed down";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = function: nixpkgs.lib.genAttrs systems (system: function nixpkgs.legacyPackages.${system});
      toml = builtins.fromTOML (builtins.readFile ./Cargo.toml);
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "thrashlab";
          version = toml.workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "-p" "cli" "--bin" "thrashlab" ];
          # Static, so that it can be the first process of a guest: as in the Makefile.
          buildInputs = [ pkgs.glibc.static ];
          RUSTFLAGS = "-C target-feature=+crt-static -C relocation-model=static";
          CARGO_BUILD_TARGET = pkgs.stdenv.hostPlatform.rust.rustcTarget;
          # The tests need guests and root file systems: make test.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles pkgs.makeWrapper ];
          postInstall = ''
            $out/bin/thrashlab man --all man1
            installManPage man1/*.1
            for shell in bash fish zsh; do
              $out/bin/thrashlab completions $shell >completions.$shell
            done
            installShellCompletion --cmd thrashlab --bash completions.bash --fish completions.fish \
              --zsh completions.zsh
          '';
          meta = {
            description = "Measures how a system responds under load, and explains where the time went";
            license = with pkgs.lib.licenses; [ mit asl20 ];
            platforms = systems;
            mainProgram = "thrashlab";
          };
        };
      });
      devShells = each (pkgs: {
        default = pkgs.mkShell { packages = with pkgs; [ cargo rustc rustfmt clippy qemu gnumake ]; };
      });
    };
}
