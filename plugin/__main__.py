"""Offer the components to programs in TypeScript, Go, C#, Java and YAML."""

from eks_gpushare.plugin.host import serve

if __name__ == "__main__":
    serve()
