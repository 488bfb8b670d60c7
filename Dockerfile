# One image for the API and all workers. The command selects the process (docker-compose.yml).
# `--build-arg NODE_IMAGE=node:24-slim@sha256:…` names the base by digest.
ARG NODE_IMAGE=node:24-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY . .
RUN node bin/compile.mjs

# Optional packages are installed too: they contain the native binaries. Install scripts never run.
FROM ${NODE_IMAGE} AS packages
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts
COPY bin/prune.mjs ./bin/
RUN node bin/prune.mjs

FROM ${NODE_IMAGE} AS product
# The small semi-space saves 150 MB of memory per worker, and few allocator arenas save 15 to 25 MB per process (cli/child.ts).
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    NODE_OPTIONS=--max-semi-space-size=4
WORKDIR /opt/postback
COPY --from=packages /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY bin ./bin
COPY crews ./crews
COPY examples ./examples
COPY console ./console
COPY docs ./docs
COPY package.json LICENSE ./
# Workflows are bundled once, here: workers cannot write to this folder, so they would bundle at each start.
RUN node -e "import('./dist/worker/bundle.js').then((module) => module.workflowBundle())"

# The image contains the embedding model, all languages of OCR and its second recogniser: nothing is downloaded at run time.
FROM product AS model
RUN node bin/postback.mjs model fetch --to /opt/postback/model
RUN node bin/postback.mjs languages fetch --to /opt/postback/languages
RUN node bin/postback.mjs recogniser fetch --to /opt/postback/languages

FROM product
COPY --from=model /opt/postback/model ./model
COPY --from=model /opt/postback/languages ./languages
# A new named volume gets its owner from the image.
RUN mkdir -p /var/lib/postback && chown node:node /var/lib/postback
ENV POSTBACK_DATA_DIR=/var/lib/postback \
    POSTBACK_EMBEDDING_MODEL_DIR=/opt/postback/model \
    POSTBACK_OCR_LANGUAGES_DIR=/opt/postback/languages
USER node
EXPOSE 8080
CMD ["node", "bin/postback.mjs", "api"]
